/** Says hello. The workload is what a JVM logs meanwhile at all=trace. */
public class Hello {
    public static void main(String[] args) {
        System.out.println("hello");
    }
}
