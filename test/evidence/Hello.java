/** Says hello: what a JVM logs about it at all=trace is the workload. */
public class Hello {
    public static void main(String[] args) {
        System.out.println("hello");
    }
}
