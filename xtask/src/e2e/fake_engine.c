/* An engine with RocksDB's C API that keeps nothing and misbehaves on demand: a fixture of the cases of faults. A campaign on
 * it costs a tenth of a second, so that it can be killed a hundred times.
 *
 * What it shall do stands in the file ORDERS, a word and a number on each line, read when the library is loaded:
 *
 *   crash-at-write N   says why in its LOG and on standard error, and aborts
 *   hang-at-write N    never comes back
 *   slow-write N       takes N microseconds for each write
 *   refuse-open 1      fails to open a database
 *   data-bytes N       writes that many bytes to its directory with each write, and says as RocksDB does that the disk is full
 *   sync 1             asks the disk to keep them
 *   memory-bytes N     takes that much memory with its first write
 *   log-bytes N        makes its LOG that long, the reason of a crash at its end
 *   print 1            writes to standard output
 *   hang-at-exit 1     never ends
 *   fork 1             leaves a process behind, in a session of its own
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void *handle;
static handle some = (handle)&some;

static long ordered(const char *word) {
  char found[64];
  long number;
  FILE *orders = fopen(ORDERS, "r");
  if (!orders) return 0;
  while (fscanf(orders, "%63s %ld", found, &number) == 2)
    if (!strcmp(found, word)) {
      fclose(orders);
      return number;
    }
  fclose(orders);
  return 0;
}

static long crash_at, hang_at, slow_us, data_bytes, sync_data, memory_bytes, writes;
static char *volatile memory;
static FILE *log_file;
static char data_path[4096 + 16];

__attribute__((constructor)) static void begin(void) {
  crash_at = ordered("crash-at-write");
  hang_at = ordered("hang-at-write");
  slow_us = ordered("slow-write");
  data_bytes = ordered("data-bytes");
  sync_data = ordered("sync");
  memory_bytes = ordered("memory-bytes");
}

__attribute__((destructor)) static void end(void) {
  while (ordered("hang-at-exit")) pause();
}

static void leave_a_process(void) {
  if (fork() == 0) {
    setsid();
    if (fork() == 0) {
      for (;;) pause();
    }
    _exit(0);
  }
}

static handle created(void) { return some; }

handle rocksdb_open_column_families(handle options, const char *path, int count, const char **names, handle *of,
                                    handle *families, char **error) {
  char name[4096];
  (void)options, (void)count, (void)names, (void)of;
  if (ordered("refuse-open")) {
    *error = strdup("IO error: the fake engine was ordered to refuse");
    return NULL;
  }
  mkdir(path, 0777);
  snprintf(data_path, sizeof data_path, "%.4000s/000004.log", path);
  snprintf(name, sizeof name, "%s/LOG", path);
  log_file = fopen(name, "w");
  if (!log_file) {
    *error = strdup("IO error: no LOG can be written");
    return NULL;
  }
  fprintf(log_file, "RocksDB version: 0.0.0\nthe engine runs as user %d, effectively %d\n", getuid(), geteuid());
  fflush(log_file);
  if (ordered("log-bytes")) {
    if (ftruncate(fileno(log_file), ordered("log-bytes"))) abort();
    fseek(log_file, 0, SEEK_END);
  }
  if (ordered("print")) {
    printf("{\"reply\":\"the fake engine was ordered to print\"}\n");
    fflush(stdout);
  }
  if (ordered("fork")) leave_a_process();
  families[0] = some;
  return some;
}

/* It claims what every tool asks of a library of RocksDB. */
handle rocksdb_open(handle options, const char *path, char **error) {
  handle family;
  return rocksdb_open_column_families(options, path, 0, NULL, NULL, &family, error);
}

void rocksdb_close(handle database) {
  (void)database;
  if (log_file) fclose(log_file);
  log_file = NULL;
}

/* Gives what RocksDB says of a write that fails. */
static char *write_data(void) {
  static char message[8192], zeros[4096];
  FILE *file = fopen(data_path, "a");
  long left = data_bytes;
  int why = file ? 0 : errno;
  while (!why && left > 0) {
    if (fwrite(zeros, 1, sizeof zeros, file) == sizeof zeros)
      left -= sizeof zeros;
    else
      why = errno;
  }
  if (!why && sync_data && (fflush(file) || fsync(fileno(file)))) why = errno;
  if (file && fclose(file) && !why) why = errno;
  if (!why) return NULL;
  snprintf(message, sizeof message, "IO error: %sWhile appending to file: %s: %s",
           why == ENOSPC ? "No space left on device: " : "", data_path, strerror(why));
  return strdup(message);
}

void rocksdb_write(handle database, handle options, handle batch, char **error) {
  (void)database, (void)options, (void)batch;
  writes++;
  if (writes == crash_at) {
    fprintf(log_file, "\nthe fake engine was ordered to crash\n");
    fflush(log_file);
    fprintf(stderr, "the fake engine was ordered to crash\n");
    abort();
  }
  while (writes == hang_at) pause();
  if (writes == 1 && memory_bytes) {
    memory = malloc(memory_bytes);
    if (memory) memset(memory, 1, memory_bytes);
  }
  if (data_bytes) *error = write_data();
  if (slow_us) usleep(slow_us);
}

int rocksdb_property_int(handle database, const char *name, uint64_t *value) {
  (void)database, (void)name;
  *value = 0;
  return 0;
}

/* The rest does nothing: there is nothing to do. Functions that take and give no more than C passes in registers may be
 * called with arguments that they do not name. */
#define CREATES(name) handle name(void) { return created(); }
#define NOTHING(name) void name(void) {}
#define ZERO(name) long name(void) { return 0; }

CREATES(rocksdb_options_create)
CREATES(rocksdb_writeoptions_create)
CREATES(rocksdb_readoptions_create)
CREATES(rocksdb_writebatch_create)
CREATES(rocksdb_create_iterator)
CREATES(rocksdb_flushoptions_create)
CREATES(rocksdb_envoptions_create)
CREATES(rocksdb_sstfilewriter_create)
CREATES(rocksdb_ingestexternalfileoptions_create)
CREATES(rocksdb_livefiles)
NOTHING(rocksdb_options_destroy)
NOTHING(rocksdb_get_options_from_string)
NOTHING(rocksdb_column_family_handle_destroy)
NOTHING(rocksdb_writeoptions_destroy)
NOTHING(rocksdb_writeoptions_disable_WAL)
NOTHING(rocksdb_writeoptions_set_sync)
NOTHING(rocksdb_readoptions_destroy)
NOTHING(rocksdb_writebatch_destroy)
NOTHING(rocksdb_writebatch_clear)
NOTHING(rocksdb_writebatch_put)
NOTHING(rocksdb_pinnableslice_destroy)
NOTHING(rocksdb_multi_get)
NOTHING(rocksdb_iter_destroy)
NOTHING(rocksdb_iter_seek)
NOTHING(rocksdb_iter_seek_to_first)
NOTHING(rocksdb_iter_next)
NOTHING(rocksdb_iter_prev)
NOTHING(rocksdb_iter_get_error)
NOTHING(rocksdb_flushoptions_destroy)
NOTHING(rocksdb_flush)
NOTHING(rocksdb_compact_range)
NOTHING(rocksdb_set_options)
NOTHING(rocksdb_options_enable_statistics)
NOTHING(rocksdb_livefiles_destroy)
NOTHING(rocksdb_set_perf_level)
NOTHING(rocksdb_envoptions_destroy)
NOTHING(rocksdb_sstfilewriter_open)
NOTHING(rocksdb_sstfilewriter_put)
NOTHING(rocksdb_sstfilewriter_finish)
NOTHING(rocksdb_sstfilewriter_destroy)
NOTHING(rocksdb_ingestexternalfileoptions_set_move_files)
NOTHING(rocksdb_ingestexternalfileoptions_destroy)
NOTHING(rocksdb_ingest_external_file)
ZERO(rocksdb_get_pinned)
ZERO(rocksdb_pinnableslice_value)
ZERO(rocksdb_iter_valid)
ZERO(rocksdb_iter_key)
ZERO(rocksdb_iter_value)
ZERO(rocksdb_property_value)
ZERO(rocksdb_options_statistics_get_string)
ZERO(rocksdb_livefiles_count)
ZERO(rocksdb_livefiles_level)
ZERO(rocksdb_livefiles_size)
void rocksdb_free(void *text) { free(text); }
