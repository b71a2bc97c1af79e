import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;

/** Logs with Spring Boot and the application.properties on the class path. */
public class Spring {
    public static void main(String[] args) {
        var application = new SpringApplication(Spring.class);
        application.setWebApplicationType(WebApplicationType.NONE);
        application.run(args);
        Slf4j.run();
    }
}
