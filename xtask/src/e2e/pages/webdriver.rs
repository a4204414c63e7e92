//! A browser, driven by WebDriver: Debian's chromedriver as a child, JSON over HTTP to it. It knows nothing of reports.

use anyhow::{Context, bail, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest that one command to the browser may take: printing a large page on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(120);
/// How long a page may take to become what a test waits for.
const PATIENCE: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(30);
/// Answers are images and printed pages at most.
const MOST_ANSWER_BYTES: u64 = 256 << 20;

/// Keys as WebDriver writes them.
pub mod keys {
    pub const TAB: &str = "\u{e004}";
    pub const ENTER: &str = "\u{e007}";
    pub const SHIFT: &str = "\u{e008}";
    pub const ESCAPE: &str = "\u{e00c}";
    pub const LEFT: &str = "\u{e012}";
    pub const RIGHT: &str = "\u{e014}";
}

/// A place in the window, in CSS pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spot {
    pub x: f64,
    pub y: f64,
}

/// Where a browser may go beside files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Nowhere,
    /// To this host by its loopback address.
    Loopback,
}

/// A browser that runs. It ends when this is dropped.
pub struct Browser {
    driver: Child,
    /// Kept open, because the driver may still write to it.
    output: BufReader<ChildStdout>,
    agent: ureq::Agent,
    /// Address of its session.
    session: String,
}

impl Browser {
    /// Starts one that can resolve no host beyond its reach; absent where it is not installed.
    pub fn start(reach: Reach) -> anyhow::Result<Option<Browser>> {
        if !["chromium", "chromedriver"].iter().all(|program| is_installed(program)) {
            return Ok(None);
        }
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
            .context("failed to start chromedriver")?;
        let output = BufReader::new(driver.stdout.take().context("chromedriver has no output")?);
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .proxy(None)
            .build()
            .into();
        let mut browser = Browser { driver, output, agent, session: String::new() };
        let base = format!("http://127.0.0.1:{}", port(&mut browser.output)?);
        let session = browser.post(&format!("{base}/session"), &capabilities(reach))?;
        let id = session["sessionId"].as_str().context("the session has no id")?;
        browser.session = format!("{base}/session/{id}");
        Ok(Some(browser))
    }

    /// Opens an address, whatever was open before.
    pub fn open(&self, address: &str) -> anyhow::Result<()> {
        // Another page in between: the same address with a new fragment would not be loaded again.
        self.command("url", &json!({ "url": "about:blank" }))?;
        self.command("url", &json!({ "url": address }))?;
        Ok(())
    }

    /// Runs a function's body in the page and gives what it returns.
    pub fn script(&self, body: &str) -> anyhow::Result<Value> {
        self.script_with(body, &json!([]))
    }

    /// The same with `arguments`, an array.
    pub fn script_with(&self, body: &str, arguments: &Value) -> anyhow::Result<Value> {
        self.command("execute/sync", &json!({ "script": body, "args": arguments }))
            .with_context(|| format!("in the page: {body}"))
    }

    /// An expression that must be true now.
    pub fn ensure(&self, expression: &str) -> anyhow::Result<()> {
        let found = self.script(&format!("return ({expression})"))?;
        ensure!(found == true, "`{expression}` is {found}");
        Ok(())
    }

    /// An expression that must become true.
    pub fn until(&self, expression: &str) -> anyhow::Result<()> {
        let began = Instant::now();
        loop {
            let found = self.script(&format!("return ({expression})"))?;
            if found == true {
                return Ok(());
            }
            ensure!(began.elapsed() < PATIENCE, "`{expression}` stayed {found}");
            std::thread::sleep(POLL);
        }
    }

    /// The middle of the first element that is found, scrolled into view.
    pub fn middle_of(&self, selector: &str) -> anyhow::Result<Spot> {
        self.spot(selector, 0.5)
    }

    /// A spot in an element, at a share of its width and half of its height, once the element stands still: charts that
    /// are drawn while the page scrolls move what lies below them.
    pub fn spot(&self, selector: &str, share: f64) -> anyhow::Result<Spot> {
        let began = Instant::now();
        let mut before = self.spot_now(selector, share)?;
        loop {
            std::thread::sleep(POLL);
            let spot = self.spot_now(selector, share)?;
            if spot == before {
                return Ok(spot);
            }
            ensure!(began.elapsed() < PATIENCE, "`{selector}` does not stand still");
            before = spot;
        }
    }

    fn spot_now(&self, selector: &str, share: f64) -> anyhow::Result<Spot> {
        const BODY: &str = "const found = document.querySelector(arguments[0]);\
            if (!found) return null;\
            found.scrollIntoView({ block: 'center' });\
            const box = found.getBoundingClientRect();\
            return [box.left + arguments[1] * box.width, box.top + box.height / 2]";
        let spot = self.script_with(BODY, &json!([selector, share]))?;
        let (x, y) = (spot[0].as_f64(), spot[1].as_f64());
        let (x, y) = x.zip(y).with_context(|| format!("the page has no `{selector}`"))?;
        Ok(Spot { x, y })
    }

    /// Clicks on the middle of the first element that is found.
    pub fn click(&self, selector: &str) -> anyhow::Result<()> {
        let spot = self.middle_of(selector)?;
        self.pointer(&[move_to(spot), down(), up()])
    }

    /// Clicks with shift held.
    pub fn shift_click(&self, selector: &str) -> anyhow::Result<()> {
        let spot = self.middle_of(selector)?;
        let pause = json!({ "type": "pause" });
        self.command(
            "actions",
            &json!({ "actions": [
                { "type": "key", "id": "keyboard", "actions": [
                    { "type": "keyDown", "value": keys::SHIFT }, pause, pause, pause, { "type": "keyUp", "value": keys::SHIFT }
                ] },
                { "type": "pointer", "id": "mouse", "actions": [pause, move_to(spot), down(), up(), pause] },
            ] }),
        )?;
        Ok(())
    }

    /// Clicks twice.
    pub fn double_click(&self, spot: Spot) -> anyhow::Result<()> {
        self.pointer(&[move_to(spot), down(), up(), down(), up()])
    }

    /// Points at a spot.
    pub fn hover(&self, spot: Spot) -> anyhow::Result<()> {
        self.pointer(&[move_to(spot)])
    }

    /// Presses at one spot and lets go at the other.
    pub fn drag(&self, from: Spot, to: Spot) -> anyhow::Result<()> {
        let between = Spot { x: (from.x + to.x) / 2.0, y: (from.y + to.y) / 2.0 };
        self.pointer(&[move_to(from), down(), move_to(between), move_to(to), up()])
    }

    /// Turns the wheel at a spot; up is negative.
    pub fn wheel(&self, spot: Spot, pixels: i32) -> anyhow::Result<()> {
        let (x, y) = whole(spot);
        let scroll =
            json!({ "type": "scroll", "x": x, "y": y, "deltaX": 0, "deltaY": pixels, "duration": 0 });
        self.command(
            "actions",
            &json!({ "actions": [{ "type": "wheel", "id": "wheel", "actions": [scroll] }] }),
        )?;
        Ok(())
    }

    fn pointer(&self, actions: &[Value]) -> anyhow::Result<()> {
        self.command(
            "actions",
            &json!({ "actions": [{ "type": "pointer", "id": "mouse", "actions": actions }] }),
        )?;
        Ok(())
    }

    /// Presses keys one after the other, each let go before the next.
    pub fn press(&self, pressed: &[&str]) -> anyhow::Result<()> {
        let each = |key: &&str| {
            [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })]
        };
        let actions: Vec<Value> = pressed.iter().flat_map(each).collect();
        self.keyboard(&actions)
    }

    /// Presses a key with shift held.
    pub fn press_with_shift(&self, key: &str) -> anyhow::Result<()> {
        let held = |kind: &str, key: &str| json!({ "type": kind, "value": key });
        self.keyboard(&[
            held("keyDown", keys::SHIFT),
            held("keyDown", key),
            held("keyUp", key),
            held("keyUp", keys::SHIFT),
        ])
    }

    /// Types text.
    pub fn write(&self, text: &str) -> anyhow::Result<()> {
        let letters: Vec<String> = text.chars().map(String::from).collect();
        self.press(&letters.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn keyboard(&self, actions: &[Value]) -> anyhow::Result<()> {
        self.command(
            "actions",
            &json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": actions }] }),
        )?;
        Ok(())
    }

    /// Makes the page as wide and high as this, whatever the window can be.
    pub fn resize(&self, width: u32, height: u32) -> anyhow::Result<()> {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", &size)
    }

    /// Asks pages for dark or light colours.
    pub fn prefer_dark(&self, dark: bool) -> anyhow::Result<()> {
        let value = if dark { "dark" } else { "light" };
        let feature = json!({ "name": "prefers-color-scheme", "value": value });
        self.devtools("Emulation.setEmulatedMedia", &json!({ "features": [feature] }))
    }

    /// Whether the scripts of pages run; those of this driver do always.
    pub fn run_scripts(&self, run: bool) -> anyhow::Result<()> {
        self.devtools("Emulation.setScriptExecutionDisabled", &json!({ "value": !run }))
    }

    fn devtools(&self, method: &str, parameters: &Value) -> anyhow::Result<()> {
        self.command("goog/cdp/execute", &json!({ "cmd": method, "params": parameters }))?;
        Ok(())
    }

    /// What is seen now, as PNG into a file.
    pub fn screenshot(&self, path: &Path) -> anyhow::Result<()> {
        let image = self.get(&format!("{}/screenshot", self.session))?;
        let bytes = STANDARD.decode(image.as_str().context("a screenshot is no text")?)?;
        fs::write(path, bytes).with_context(|| format!("failed to write `{}`", path.display()))
    }

    /// The page as PDF.
    pub fn print(&self) -> anyhow::Result<Vec<u8>> {
        let pdf = self.command("print", &json!({ "background": true }))?;
        Ok(STANDARD.decode(pdf.as_str().context("a printed page is no text")?)?)
    }

    /// What the page and the browser complained about since this was last asked for.
    pub fn complaints(&self) -> anyhow::Result<Vec<String>> {
        let log = self.command("se/log", &json!({ "type": "browser" }))?;
        let entries = log.as_array().context("the log is no list")?;
        Ok(entries.iter().map(|entry| format!("{}: {}", entry["level"], entry["message"])).collect())
    }

    fn command(&self, name: &str, body: &Value) -> anyhow::Result<Value> {
        self.post(&format!("{}/{name}", self.session), body)
    }

    fn post(&self, address: &str, body: &Value) -> anyhow::Result<Value> {
        let request = self.agent.post(address).header("content-type", "application/json");
        answer(request.send(body.to_string()), address)
    }

    fn get(&self, address: &str) -> anyhow::Result<Value> {
        answer(self.agent.get(address).call(), address)
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Whether or not it answers: what is left of it is killed with the driver's process group.
        if !self.session.is_empty() {
            let _ = self.agent.delete(&self.session).call();
        }
        let _ = super::super::processes::signal_group(self.driver.id(), libc::SIGKILL);
        let _ = self.driver.wait();
    }
}

type Answer = Result<ureq::http::Response<ureq::Body>, ureq::Error>;

fn answer(answer: Answer, address: &str) -> anyhow::Result<Value> {
    let mut response = answer.with_context(|| format!("no answer from {address}"))?;
    let text = response.body_mut().with_config().limit(MOST_ANSWER_BYTES).read_to_string();
    let text = text.with_context(|| format!("the answer from {address} ends early"))?;
    let mut answer: Value = serde_json::from_str(&text).with_context(|| format!("no JSON from {address}"))?;
    let value = answer["value"].take();
    if let Some(error) = value.get("error").and_then(Value::as_str) {
        bail!(
            "{error}: {}",
            value["message"].as_str().unwrap_or_default().lines().next().unwrap_or_default()
        );
    }
    Ok(value)
}

fn move_to(spot: Spot) -> Value {
    let (x, y) = whole(spot);
    json!({ "type": "pointerMove", "x": x, "y": y, "duration": 0 })
}

fn down() -> Value {
    json!({ "type": "pointerDown", "button": 0 })
}

fn up() -> Value {
    json!({ "type": "pointerUp", "button": 0 })
}

#[expect(clippy::cast_possible_truncation, reason = "a place in a window is a small number")]
fn whole(spot: Spot) -> (i64, i64) {
    (spot.x.round() as i64, spot.y.round() as i64)
}

fn capabilities(reach: Reach) -> Value {
    let arguments = [
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--disable-gpu",
        "--window-size=1280,900",
        match reach {
            Reach::Nowhere => "--host-resolver-rules=MAP * ~NOTFOUND",
            Reach::Loopback => "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
        },
        // Nothing of the browser's own may look for a network.
        "--disable-background-networking",
        "--no-first-run",
    ];
    json!({ "capabilities": { "alwaysMatch": {
        "browserName": "chrome",
        "goog:chromeOptions": { "args": arguments },
        "goog:loggingPrefs": { "browser": "ALL" },
    } } })
}

/// The port that the driver chose, from what it prints.
fn port(output: &mut BufReader<ChildStdout>) -> anyhow::Result<u16> {
    const BEFORE: &str = "started successfully on port ";
    for line in output.lines() {
        let line = line.context("failed to read what chromedriver prints")?;
        if let Some((_, port)) = line.split_once(BEFORE) {
            return port.trim_end_matches('.').parse().with_context(|| format!("no port in `{line}`"));
        }
    }
    bail!("chromedriver ended before it listened")
}

fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}
