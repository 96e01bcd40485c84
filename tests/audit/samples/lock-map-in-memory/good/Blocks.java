public class Blocks {
    private static final Map<Long, String> blocksByClock = new HashMap<>();
    // locks = none here
    void run() {
        Map<Long, String> locks = new HashMap<>();
    }
}
