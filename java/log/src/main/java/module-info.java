/** Events of an application, written into a ring that the ullage sidecar drains. */
module dev.ullage.log {
    exports dev.ullage.log;
}
