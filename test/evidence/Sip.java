/** Makes a megabyte of garbage every 50 ms, as an application with little work does. */
public class Sip {
    static Object last;

    public static void main(String[] args) throws InterruptedException {
        while (true) {
            for (int i = 0; i < 128; i++) {
                last = new byte[8192];
            }
            Thread.sleep(50);
        }
    }
}
