import java.util.Map;
import java.util.logging.Level;
import java.util.logging.Logger;

/** Logs with java.util.logging. */
class Jul {
    static final Map<String, Level> LEVELS = Map.of("trace", Level.FINER, "debug", Level.FINE, "info", Level.INFO, "warning", Level.WARNING, "error", Level.SEVERE);

    public static void main(String[] args) {
        var logger = Logger.getLogger("com.example.Main");
        Scenario.run((level, text, thrown) -> logger.log(LEVELS.get(level), text, thrown));
    }
}
