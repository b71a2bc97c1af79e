import org.slf4j.LoggerFactory;
import org.slf4j.event.Level;

/** Logs with SLF4J, whose provider is Logback. */
class Slf4j {
    public static void main(String[] args) {
        run();
    }

    static void run() {
        var logger = LoggerFactory.getLogger("com.example.Main");
        Scenario.run((level, text, thrown) -> logger.atLevel(level.equals("warning") ? Level.WARN : Level.valueOf(level.toUpperCase()))
            .setCause(thrown).log(text));
    }
}
