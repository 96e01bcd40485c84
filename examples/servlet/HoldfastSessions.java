// People's work and holdfast in a servlet container: a session of holdfast's for each edit page, kept in the web session, and ended with it,
// be it by a logout (HttpSession.invalidate) or because it runs out. For Tomcat 9 and others before Jakarta EE 9 the imports begin with javax.
// Needs Java 16, nothing else; where the application has a JSON library, it takes the place of what stands at the end.
import jakarta.servlet.annotation.WebListener;
import jakarta.servlet.http.HttpSession;
import jakarta.servlet.http.HttpSessionEvent;
import jakarta.servlet.http.HttpSessionListener;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

@WebListener
public final class HoldfastSessions implements HttpSessionListener {
    private static final String ATTRIBUTE = "holdfast";
    private static final String URL = setting("holdfast.url", "HOLDFAST_URL", "http://127.0.0.1:7420");
    private static final int IDLE_SECONDS = 300;
    private static final HttpClient CLIENT =
        HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(Duration.ofSeconds(5)).build();

    /** One page on which someone edits a record. The fence goes with the save; the key stays in the server. */
    public record Work(String type, String record, String id, String key, long fence) implements Serializable {
        String login() {
            return id + "." + key;
        }

        @Override
        public String toString() {
            return type + "/" + record + " in session " + id;
        }
    }

    /** What a person is told; status is 423 if someone else has it, 404, 409 or 410 if the work has ended, 503 if holdfast does not answer. On a
        beat 408, 423 and 429 only say that there was no time for it: hand the status on, and the next beat will tell. */
    public static final class Refused extends Exception {
        private static final long serialVersionUID = 1;
        public final int status;

        Refused(int status, String sentence) {
            super(sentence);
            this.status = status;
        }
    }

    /** Takes the lock for a new page. A page of the same web session that had the record open loses it. */
    public static Work take(HttpSession web, String user, String name, String type, String record, String purpose) throws Refused {
        Map<String, Work> all = works(web);
        Work older = all.get(type + "/" + record);
        String replaces = older == null ? "" : ",\"replaces\":" + quoted(older.login());
        String session = ask("POST", "/v1/sessions", null,
            "{\"user\":" + quoted(user) + ",\"name\":" + quoted(name) + ",\"idle_seconds\":" + IDLE_SECONDS + replaces + "}");
        Work asking = new Work(type, record, text(session, "id"), text(session, "key"), 0);
        // Kept before the lock is asked for: if no answer comes, the next try replaces this one.
        all.put(type + "/" + record, asking);
        try {
            String granted = ask("PUT", lockPath(type, record), asking, "{\"purpose\":" + quoted(purpose) + "}");
            Work work = new Work(type, record, asking.id, asking.key, Long.parseLong(text(granted, "fence")));
            all.put(type + "/" + record, work);
            return work;
        } catch (Refused refused) {
            if (refused.status == 423)
                close(web, asking);
            throw refused;
        }
    }

    /** What session-src of <edit-lock> answers: a session without a lock, kept in the web session for the save. */
    public static String open(HttpSession web, String user, String name, String type, String record, boolean mayTakeOver) throws Refused {
        String session = ask("POST", "/v1/sessions", null, "{\"user\":" + quoted(user) + ",\"name\":" + quoted(name) + ",\"idle_seconds\":" + IDLE_SECONDS + "}");
        Work work = new Work(type, record, text(session, "id"), text(session, "key"), 0);
        works(web).put(work.id, work);
        return "{\"session\":" + quoted(work.login()) + ",\"user\":" + quoted(user) + ",\"name\":" + quoted(name)
            + ",\"idle_seconds\":" + IDLE_SECONDS + ",\"may_take_over\":" + mayTakeOver + "}";
    }

    /** For take-over-src of <edit-lock>; asked is its JSON. Ask first whether that person may. The token needs the role manage. */
    public static void takeOver(String actor, String asked) throws Refused {
        String[] resource = text(asked, "resource").split("/", 2);
        String fence = text(asked, "fence");
        ask("POST", lockPath(resource[0], resource[1]) + "/force-release", null, "{\"reason\":" + quoted(text(asked, "reason"))
            + (fence.isEmpty() ? "" : ",\"fence\":" + fence) + ",\"actor\":" + quoted(actor) + "}");
    }

    /** What record-src of <edit-lock> answers; send it with Cache-Control: no-store. version is the one that was written with the record. */
    public static String record(long version, Map<String, String> fields) {
        StringJoiner all = new StringJoiner(",", "{", "}");
        fields.forEach((name, value) -> all.add(quoted(name) + ":" + quoted(value)));
        return "{\"version\":" + version + ",\"fields\":" + all + "}";
    }

    /** Counts the save of a form of <edit-lock>, by its holdfast_session, holdfast_fence and holdfast_version: write the record with the
        version that this answers, if it still is at the one that was read. */
    public static long save(HttpSession web, String type, String record, String id, String fence, long version) throws Refused {
        Work work = works(web).values().stream().filter(one -> one.id.equals(id) && one.type.equals(type) && one.record.equals(record)).findAny()
            .orElseThrow(() -> new Refused(409, "Your editing session has ended; reload the record."));
        String[] read = version > 0 ? new String[] {"If-Match", "\"" + version + "\""} : new String[] {"If-None-Match", "*"};
        String path = lockPath(type, record).replaceFirst("locks", "versions");
        return Long.parseLong(text(ask("PUT", path, work, "{}", "Holdfast-Fence", fence, read[0], read[1]), "version"));
    }

    /** The work that a page names, for a beat or a save; refused if another page took its place, or it has ended. */
    public static Work find(HttpSession web, String type, String record, String id) throws Refused {
        Work work = works(web).get(type + "/" + record);
        if (work == null || !work.id.equals(id))
            throw new Refused(409, "Your editing session has ended, or the record is open on another page of yours.");
        return work;
    }

    /** holdfast's JSON, for the page's script; what is thrown has the status for it. */
    public static String beat(Work work) throws Refused {
        return ask("POST", "/v1/sessions/" + work.id + "/beat", work, null);
    }

    /** Gives back what the work holds: after a save, and when the page says that it goes. If holdfast can't be told, the idle bound ends it. */
    public static void close(HttpSession web, Work work) {
        if (end(work))
            works(web).computeIfPresent(work.type + "/" + work.record, (resource, now) -> now.id.equals(work.id) ? null : now);
    }

    @Override
    public void sessionDestroyed(HttpSessionEvent event) {
        works(event.getSession()).values().forEach(HoldfastSessions::end);
    }

    /** False: holdfast could not be told, or had no time for it. */
    private static boolean end(Work work) {
        try {
            ask("DELETE", "/v1/sessions/" + work.id, work, null);
            return true;
        } catch (Refused refused) {
            return refused.status == 404 || refused.status == 409 || refused.status == 410;
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Work> works(HttpSession web) {
        synchronized (HoldfastSessions.class) {
            if (web.getAttribute(ATTRIBUTE) == null)
                web.setAttribute(ATTRIBUTE, new ConcurrentHashMap<String, Work>());
            return (Map<String, Work>) web.getAttribute(ATTRIBUTE);
        }
    }

    private static String setting(String property, String variable, String otherwise) {
        String value = System.getProperty(property, System.getenv(variable));
        return value == null ? otherwise : value;
    }

    /** The token is read from its file, and goes nowhere but to holdfast. */
    private static String token() {
        try {
            return Files.readString(Path.of(setting("holdfast.token-file", "HOLDFAST_TOKEN_FILE", "/etc/holdfast/office-token"))).strip();
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        }
    }

    private static String lockPath(String type, String record) {
        return "/v1/locks/" + type + "/" + URLEncoder.encode(record, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** With work a session asks, without it the application. */
    private static String ask(String method, String path, Work work, String body, String... headers) throws Refused {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(URL + path)).timeout(Duration.ofSeconds(5))
            .method(method, body == null ? BodyPublishers.noBody() : BodyPublishers.ofString(body))
            .header("Content-Type", "application/json");
        if (headers.length > 0)
            request.headers(headers);
        if (work == null)
            request.header("Authorization", "Bearer " + token());
        else
            request.header("Holdfast-Session", work.login());
        HttpResponse<String> answer = send(request.build());
        if (answer.statusCode() < 300)
            return answer.body();
        boolean forPeople = answer.statusCode() < 500 && answer.statusCode() != 401 && answer.statusCode() != 403;
        throw forPeople ? new Refused(answer.statusCode(), text(answer.body(), "message")) : unavailable();
    }

    private static HttpResponse<String> send(HttpRequest request) throws Refused {
        try {
            return CLIENT.send(request, BodyHandlers.ofString());
        } catch (IOException problem) {
            throw unavailable();
        } catch (InterruptedException problem) {
            Thread.currentThread().interrupt();
            throw unavailable();
        }
    }

    private static Refused unavailable() {
        return new Refused(503, "The lock service does not answer. Nothing was changed; please try again in a minute.");
    }

    // ---- as much JSON as this needs ----

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray())
            out.append(c == '"' || c == '\\' ? "\\" + c : c < ' ' ? String.format("\\u%04x", (int) c) : String.valueOf(c));
        return out.append('"').toString();
    }

    /** The first field of that name, as text. */
    private static String text(String json, String name) {
        Matcher field = Pattern.compile("\"" + name + "\":(?:\"((?:[^\"\\\\]|\\\\.)*)\"|(-?[0-9]+))").matcher(json);
        if (!field.find())
            return "";
        if (field.group(2) != null)
            return field.group(2);
        return Pattern.compile("\\\\(?:u([0-9a-fA-F]{4})|(.))").matcher(field.group(1)).replaceAll(found -> Matcher.quoteReplacement(
            found.group(1) == null ? found.group(2) : String.valueOf((char) Integer.parseInt(found.group(1), 16))));
    }
}
