import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;

/** Logs with Log4j 2. */
class Log4j {
    public static void main(String[] args) {
        var logger = LogManager.getLogger("com.example.Main");
        Scenario.run((level, text, thrown) -> logger.log(level.equals("warning") ? Level.WARN : Level.valueOf(level), text, thrown));
        LogManager.shutdown();
    }
}
