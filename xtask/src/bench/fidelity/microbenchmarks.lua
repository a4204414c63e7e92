-- Microbenchmarks of Small Datum for which sysbench brings no script: one statement an event, on the table sbtest1.
-- sysbench microbenchmarks.lua --benchmark=random-points --range=100 --table-size=100000 .. run

sysbench.cmdline.options = {
    benchmark = {"Which microbenchmark", ""},
    range = {"Values of a list, or what is added to the low end of a range", 100},
    table_size = {"Rows of the table", 10000},
    tables = {"Only 1 is known", 1},
}

local text = string.rep("###########-", 10)

local function any_id()
    return sysbench.rand.uniform(1, sysbench.opt.table_size)
end

local function hot_id()
    return math.floor(sysbench.opt.table_size / 2) + 1
end

local function first_id()
    return 1
end

-- Zipf's law with the exponent that the microbenchmark has, by a table of sums: sysbench 1.0.20 draws by no such law.
local EXPONENT = 0.8
local sums

local function zipfian_id()
    local rows = sysbench.opt.table_size
    if not sums then
        sums = {[0] = 0}
        for id = 1, rows do
            sums[id] = sums[id - 1] + id ^ -EXPONENT
        end
    end
    local wanted = sysbench.rand.uniform_double() * sums[rows]
    local low, high = 1, rows
    while low < high do
        local middle = math.floor((low + high) / 2)
        if sums[middle] < wanted then
            low = middle + 1
        else
            high = middle
        end
    end
    return low
end

-- `LIST` stands for as many values as `--range` says, or as `count` does; a range goes from a drawn value to that value and `--range`.
local tests = {
    ["random-points"] = {sql = "SELECT c FROM sbtest1 WHERE id IN (LIST)", draw = any_id},
    ["hot-points"] = {sql = "SELECT c FROM sbtest1 WHERE id IN (LIST)", draw = hot_id, is_consecutive = true},
    ["points-covered-pk"] = {sql = "SELECT id FROM sbtest1 WHERE id IN (LIST)", draw = any_id},
    ["points-notcovered-pk"] = {sql = "SELECT id, c FROM sbtest1 WHERE id IN (LIST)", draw = any_id},
    ["points-covered-si"] = {sql = "SELECT k FROM sbtest1 WHERE k IN (LIST)", draw = any_id},
    ["points-notcovered-si"] = {sql = "SELECT k, c FROM sbtest1 WHERE k IN (LIST)", draw = any_id},
    ["range-covered-pk"] = {sql = "SELECT id FROM sbtest1 WHERE id BETWEEN ? AND ?", draw = any_id, is_range = true},
    ["range-notcovered-pk"] = {sql = "SELECT id, c FROM sbtest1 WHERE id BETWEEN ? AND ?", draw = any_id, is_range = true},
    ["range-covered-si"] = {sql = "SELECT k FROM sbtest1 WHERE k BETWEEN ? AND ?", draw = any_id, is_range = true},
    ["range-notcovered-si"] = {sql = "SELECT k, c FROM sbtest1 WHERE k BETWEEN ? AND ?", draw = any_id, is_range = true},
    ["read-only-count"] = {sql = "SELECT count(c) FROM sbtest1 WHERE id BETWEEN ? AND ?", draw = any_id, is_range = true},
    ["update-one"] = {sql = "UPDATE sbtest1 SET c = ? WHERE id = LIST", draw = first_id, count = 1, sets_text = true},
    ["update-inlist"] = {sql = "UPDATE sbtest1 SET c = ? WHERE id IN (LIST)", draw = any_id, count = 10, sets_text = true},
    ["update-zipf"] = {sql = "UPDATE sbtest1 SET c = ? WHERE id = LIST", draw = zipfian_id, count = 1, sets_text = true},
    ["scan"] = {whole = "SELECT * FROM sbtest1 WHERE LENGTH(c) < 0"},
}

local connection, statement, test, parameters

function thread_init()
    connection = sysbench.sql.driver():connect()
    test = tests[sysbench.opt.benchmark] or error("no such microbenchmark: " .. sysbench.opt.benchmark)
    if test.whole then
        return
    end
    local count = test.is_range and 2 or test.count or sysbench.opt.range
    local sql = test.sql:gsub("LIST", string.rep("?, ", count - 1) .. "?")
    statement = connection:prepare(sql)
    parameters = {}
    if test.sets_text then
        parameters[1] = statement:bind_create(sysbench.sql.type.CHAR, 120)
    end
    for _ = 1, count do
        parameters[#parameters + 1] = statement:bind_create(sysbench.sql.type.INT)
    end
    statement:bind_param(unpack(parameters))
end

function thread_done()
    if statement then
        statement:close()
    end
    connection:disconnect()
end

function event()
    if test.whole then
        connection:query(test.whole)
        return
    end
    local first = 1
    if test.sets_text then
        parameters[1]:set_rand_str(text)
        first = 2
    end
    local low = test.draw()
    parameters[first]:set(low)
    for place = first + 1, #parameters do
        if test.is_range then
            parameters[place]:set(low + sysbench.opt.range)
        elseif test.is_consecutive then
            parameters[place]:set(low + place - first)
        else
            parameters[place]:set(test.draw())
        end
    end
    statement:execute()
end
