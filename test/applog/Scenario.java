/** What each application logs: the word after "at" is the level of the record and of its further lines. */
class Scenario {
    interface Log {
        void at(String level, String text, Throwable thrown);
    }

    static void run(Log log) {
        for (int i = 0; i < 20; i++) {
            log.at("info", "at info: request " + i, null);
            log.at("debug", "at debug: select *\n  from t\nINNER JOIN u", null);
            log.at("warning", "at warning: {\"level\":\"INFO\"} [INFO] x", null);
            log.at("error", "at error: failed", new IllegalStateException("no", new RuntimeException("why\n07")));
            log.at("trace", "at trace: details", null);
        }
        log.at("info", "at info: the end", null);
    }
}
