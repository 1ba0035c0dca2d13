//! A browser without a window, driven over the DevTools protocol through two pipes (`--remote-debugging-pipe`: JSON,
//! each message ended by a zero byte), which needs neither a port nor a web socket. Knows nothing of what is tested.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

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

/// A browser with one page.
pub struct Browser {
    process: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next_id: u64,
    session: String,
    /// What the page did of itself, in order: method and parameters.
    pub events: Vec<(String, Value)>,
    /// Its profile; gone when this is dropped.
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts it, with a page that is still empty.
    pub fn start(program: &Path) -> Browser {
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
            "--hide-scrollbars",
            "--force-device-scale-factor=1",
        ];
        // The protocol is on the descriptors 3 and 4, which only a shell can place without `unsafe`.
        let mut process = Command::new("sh")
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
        let input = process.stdin.take().expect("it is piped");
        let output = BufReader::new(process.stdout.take().expect("it is piped"));
        let mut browser = Browser {
            process,
            input,
            output,
            next_id: 0,
            session: String::new(),
            events: Vec::new(),
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}));
        let target = json!({"targetId": target["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", target);
        browser.session = attached["sessionId"].as_str().expect("a session").to_owned();
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Asks for something and waits for the answer; what happens meanwhile is kept.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        let mut message = json!({"id": id, "method": method, "params": parameters});
        if !self.session.is_empty() {
            message["sessionId"] = json!(self.session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.input.write_all(&bytes).and_then(|()| self.input.flush()).expect("the browser listens");
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
        self.output.read_until(0, &mut bytes).expect("the browser answers");
        assert_eq!(bytes.pop(), Some(0), "the browser ended");
        let message: Value = serde_json::from_slice(&bytes).expect("JSON");
        if let Some(method) = message["method"].as_str() {
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

    /// The whole page as it looks, as PNG.
    pub fn screenshot(&mut self, path: &Path) {
        let asked = json!({"format": "png", "captureBeyondViewport": true});
        let answer = self.call("Page.captureScreenshot", asked);
        let png =
            base64::engine::general_purpose::STANDARD.decode(answer["data"].as_str().expect("an image"));
        std::fs::write(path, png.expect("base64")).expect("it can be written");
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends by itself when asked, its children with it; if it does not answer, it has ended already.
        self.session.clear();
        let _ = self.input.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        let _ = self.input.flush();
        let mut bytes = Vec::new();
        while self.output.read_until(0, &mut bytes).is_ok_and(|length| length > 0) {
            bytes.clear();
        }
        let _ = self.process.wait();
    }
}
