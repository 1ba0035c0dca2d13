//! A browser without a window, driven over the DevTools protocol through two pipes (`--remote-debugging-pipe`: JSON,
//! each message ended by a zero byte), which needs neither a port nor a web socket. Knows nothing of what is tested.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use base64::Engine as _;
use serde_json::{Value, json};

/// Names that Debian and others give to it.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// The browser that `CHROMIUM` names, else one of the path.
pub fn find() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("CHROMIUM") {
        return Some(path.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let programs = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    programs.into_iter().find(|program| program.is_file())
}

/// The program, shared by the tests that run at the same time: each start takes seconds of CPU time.
static SHARED: Mutex<Option<Process>> = Mutex::new(None);
/// Tests that have a page or wait for one. The last one ends the program.
static USERS: AtomicUsize = AtomicUsize::new(0);

/// A running program.
struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
    /// Its profile; gone when this is dropped.
    _profile: tempfile::TempDir,
}

impl Process {
    fn start(program: &Path) -> Process {
        let profile =
            tempfile::Builder::new().prefix("pgmeter-test-browser-").tempdir().expect("a directory");
        let flags = [
            "--headless=new",
            "--remote-debugging-pipe",
            // Tests may run as root, where there is no sandbox to be had; the page is our own.
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            // Extensions of the system's packages have pages of their own, which take as long as ours.
            "--disable-extensions",
            "--disable-component-extensions-with-background-pages",
            "--disable-default-apps",
            "--disable-sync",
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
        ];
        // The protocol is on the descriptors 3 and 4, which only a shell can place without `unsafe`.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null 2>&1"])
            .arg(program)
            .args(flags)
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .env("HOME", profile.path())
            .env("TMPDIR", profile.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell can be started");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Process { child, input, output, next_id: 0, _profile: profile }
    }

    fn send(&mut self, message: &Value) -> std::io::Result<()> {
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes)?;
        self.input.flush()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It ends by itself when asked, its children with it; if it does not answer, it has ended already.
        let _ = self.send(&json!({"id": 0, "method": "Browser.close"}));
        let mut bytes = Vec::new();
        while self.output.read_until(0, &mut bytes).is_ok_and(|length| length > 0) {
            bytes.clear();
        }
        let _ = self.child.wait();
    }
}

/// A page of the browser, which no other test uses meanwhile.
pub struct Browser {
    process: MutexGuard<'static, Option<Process>>,
    target: Value,
    session: String,
    /// What the page did of itself, in order: method and parameters.
    pub events: Vec<(String, Value)>,
}

impl Browser {
    /// A page that is still empty. Waits for the tests that have one.
    pub fn start(program: &Path) -> Browser {
        USERS.fetch_add(1, Ordering::SeqCst);
        let mut process = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        process.get_or_insert_with(|| Process::start(program));
        let mut browser =
            Browser { process, target: Value::Null, session: String::new(), events: Vec::new() };
        browser.target =
            browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].take();
        let target = json!({"targetId": browser.target, "flatten": true});
        let attached = browser.call("Target.attachToTarget", target);
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    fn process(&mut self) -> &mut Process {
        self.process.as_mut().expect("it was started")
    }

    /// Asks for something and waits for the answer; what happens meanwhile is kept.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        let mut message = json!({"method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let process = self.process();
        process.next_id += 1;
        let id = process.next_id;
        message["id"] = json!(id);
        process.send(&message).expect("the browser listens");
        loop {
            let message = self.receive();
            if message["id"] == json!(id) {
                assert!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
        }
    }

    fn receive(&mut self) -> Value {
        let mut bytes = Vec::new();
        self.process().output.read_until(0, &mut bytes).expect("the browser answers");
        assert_eq!(bytes.pop(), Some(0), "the browser ended");
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        // Others are of pages that were closed.
        let is_of_page = message["sessionId"] == json!(self.session);
        if let Some(method) = message["method"].as_str().filter(|_| is_of_page) {
            self.events.push((method.to_owned(), message["params"].clone()));
        }
        message
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, path: &Path) {
        self.events.clear();
        self.call("Page.navigate", json!({"url": format!("file://{}", path.display())}));
        self.wait_for("Page.loadEventFired");
        // Two frames: observers of sizes have run, and what they drew is there.
        self.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))");
    }

    /// Waits until the page has done something, unless it did.
    pub fn wait_for(&mut self, event: &str) {
        while !self.events.iter().any(|(method, _)| method == event) {
            self.receive();
        }
    }

    /// A window of so many pixels, light or dark.
    pub fn window(&mut self, width: u32, height: u32, dark: bool) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", size);
        let scheme = json!({"name": "prefers-color-scheme", "value": if dark { "dark" } else { "light" }});
        self.call("Emulation.setEmulatedMedia", json!({"features": [scheme]}));
    }

    /// What an expression of the page's comes to; a promise is waited for.
    pub fn value(&mut self, expression: &str) -> Value {
        let asked = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let answer = self.call("Runtime.evaluate", asked);
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Keeps the whole page as it looks for people, each night. Nothing is read from such a file.
    pub fn keep_screenshot(&mut self, path: &Path) {
        if testkit::extent::is_all() {
            self.screenshot(path);
        }
    }

    /// The whole page as it looks, as PNG.
    pub fn screenshot(&mut self, path: &Path) {
        // Files that are compressed as much as possible take twice the time.
        let asked = json!({"format": "png", "captureBeyondViewport": true, "optimizeForSpeed": true});
        let answer = self.call("Page.captureScreenshot", asked);
        let png =
            base64::engine::general_purpose::STANDARD.decode(answer["data"].as_str().expect("an image"));
        std::fs::write(path, png.expect("base64")).expect("it can be written");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let is_last = USERS.fetch_sub(1, Ordering::SeqCst) == 1;
        // After a failure an answer may be on its way.
        if is_last || std::thread::panicking() {
            *self.process = None;
            return;
        }
        self.session.clear();
        let target = json!({"targetId": self.target});
        self.call("Target.closeTarget", target);
    }
}
