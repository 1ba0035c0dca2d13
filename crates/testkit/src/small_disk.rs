//! A file system of a few megabytes in memory, for tests of what happens when the disk is full. Mounting takes root;
//! a test that gets none has to say so aloud.

use std::io;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};

use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// A mounted file system; gone when dropped.
#[derive(Debug)]
pub struct SmallDisk {
    path: PathBuf,
}

impl SmallDisk {
    /// Mounts one at an empty folder and gives it to a user and a group.
    ///
    /// # Errors
    /// This process or machine does not permit mounting.
    pub fn mount(path: &Path, mebibytes: u32, owner: (u32, u32)) -> io::Result<SmallDisk> {
        let options = std::ffi::CString::new(format!("size={mebibytes}m,mode=0755"))?;
        mount("tmpfs", path, "tmpfs", MountFlags::NOSUID | MountFlags::NODEV, Some(options.as_c_str()))?;
        let disk = SmallDisk { path: path.to_owned() };
        chown(path, Some(owner.0), Some(owner.1))?;
        Ok(disk)
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Open files stay until they are closed; the path is free at once.
        let _ = unmount(&self.path, UnmountFlags::DETACH);
    }
}
