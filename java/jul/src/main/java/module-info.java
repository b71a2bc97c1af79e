/** A handler of java.util.logging that writes into ullage's ring. */
module dev.ullage.log.jul {
    requires transitive java.logging;
    requires dev.ullage.log;

    exports dev.ullage.log.jul;
}
