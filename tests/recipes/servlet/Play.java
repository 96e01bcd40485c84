// The servlet example, played with web sessions of its own against a real server.
import jakarta.servlet.http.HttpSession;
import jakarta.servlet.http.HttpSessionEvent;
import java.util.HashMap;
import java.util.Map;

public final class Play {
    private static boolean failed;

    private static final class Web implements HttpSession {
        private final Map<String, Object> attributes = new HashMap<>();

        @Override
        public Object getAttribute(String name) {
            return attributes.get(name);
        }

        @Override
        public void setAttribute(String name, Object value) {
            attributes.put(name, value);
        }

        HoldfastSessions.Work take(String user, String name, String record) throws HoldfastSessions.Refused {
            return HoldfastSessions.take(this, user, name, "policy", record, "its \"renewal\"");
        }

        void end() {
            new HoldfastSessions().sessionDestroyed(new HttpSessionEvent(this));
        }
    }

    private static void check(boolean good, String sentence, Object detail) {
        System.out.println((good ? "ok - " : "not ok - ") + sentence + (good ? "" : "\n# " + detail));
        failed |= !good;
    }

    private interface Asking {
        Object ask() throws HoldfastSessions.Refused;
    }

    private static HoldfastSessions.Refused refusal(Asking asking) {
        try {
            throw new IllegalStateException("not refused: " + asking.ask());
        } catch (HoldfastSessions.Refused refused) {
            return refused;
        }
    }

    public static void main(String[] arguments) throws Exception {
        Web alices = new Web(), bobs = new Web();
        HoldfastSessions.Work first = alices.take("alice", "Alice \"Ace\" Chen", "1");
        alices.take("alice", "Alice \"Ace\" Chen", "a/b ü");
        check(first.fence() > 0, "Alice opens two records", first);
        HoldfastSessions.Refused told = refusal(() -> bobs.take("bob", "Bob Smith", "1"));
        check(told.status == 423 && told.getMessage().startsWith("policy/1 is being edited by Alice \"Ace\" Chen since "),
            "Bob is refused, and reads who has it", told.getMessage());
        told = refusal(() -> bobs.take("bob", "Bob Smith", "a/b ü"));
        check(told.status == 423 && told.getMessage().startsWith("policy/a/b ü is being edited by "), "whatever the record is called", told.getMessage());
        check(HoldfastSessions.beat(first).contains("\"locks\":1"), "her page beats", first);
        HoldfastSessions.Work again = alices.take("alice", "Alice \"Ace\" Chen", "1");
        check(again.fence() > first.fence(), "opening it again she is not in her own way", again);
        told = refusal(() -> HoldfastSessions.find(alices, "policy", "1", first.id()));
        check(told.status == 409, "the older page has lost it", told.getMessage());
        check(HoldfastSessions.find(alices, "policy", "1", again.id()).equals(again), "the newer one has it", again);
        check(!again.toString().contains(again.key()), "the key is in no message", "");
        HoldfastSessions.close(alices, again);
        HoldfastSessions.Work his = bobs.take("bob", "Bob Smith", "1");
        check(his.fence() > again.fence(), "after her save it is Bob's, with a newer fence", his);
        String opened = HoldfastSessions.open(bobs, "bob", "Bob Smith", "policy", "2", true);
        check(opened.matches("\\{\"session\":\"[0-9a-f]+\\.[0-9a-f]+\",\"user\":\"bob\",\"name\":\"Bob Smith\",\"idle_seconds\":300,\"may_take_over\":true}"),
            "session-src answers what edit-lock expects", opened);
        HoldfastSessions.Work hers = alices.take("alice", "Alice Chen", "2");
        HoldfastSessions.takeOver("Bob Smith", "{\"resource\":\"policy/2\",\"reason\":\"on \\\"holiday\\\"\",\"fence\":" + hers.fence() + "}");
        String beat = HoldfastSessions.beat(hers);
        check(beat.contains("\"by\":\"Bob Smith\"") && beat.contains("on \\\"holiday\\\""), "a record is taken over with a reason", beat);
        String record = HoldfastSessions.record(7, Map.of("text", "a \"b\"\n"));
        check(record.equals("{\"version\":7,\"fields\":{\"text\":\"a \\\"b\\\"\\u000a\"}}"), "record-src answers the fields", record);
        String session = opened.replaceFirst(".*?\"session\":\"([0-9a-f]+)\\..*", "$1");
        HoldfastSessions.Refused late = refusal(() -> HoldfastSessions.save(bobs, "policy", "2", session, "1", 0));
        check(late.status == 409, "a save without the lock is refused", late.getMessage());
        HoldfastSessions.Work mine = bobs.take("bob", "Bob Smith", "3");
        check(HoldfastSessions.save(bobs, "policy", "3", mine.id(), "" + mine.fence(), 0) == 1, "with the lock it is counted", mine);
        alices.end();
        check(bobs.take("bob", "Bob Smith", "a/b ü").fence() > 0, "when her web session ends, all she held is free", "");
        bobs.end();
        told = refusal(() -> HoldfastSessions.beat(his));
        check(told.status == 410 && told.getMessage().equals("Your editing session has expired; reload the record."), "and so is what he held", told.getMessage());
        System.exit(failed ? 1 : 0);
    }
}
