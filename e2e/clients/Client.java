import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.Base64;
import java.util.List;
import java.util.Map;

/** java.net.http.HttpClient, or with "urlconnection" first the old HttpURLConnection. What it prints: see ../doc.go, "Answers". */
public class Client {
    public static void main(String[] args) {
        boolean old = args.length > 0 && args[0].equals("urlconnection");
        HttpClient client = HttpClient.newHttpClient();
        for (int i = old ? 1 : 0; i < args.length; i++) {
            System.out.println("url " + args[i]);
            try {
                if (old) {
                    connection(args[i]);
                } else {
                    HttpResponse<byte[]> r = client.send(
                        HttpRequest.newBuilder(URI.create(args[i])).build(),
                        HttpResponse.BodyHandlers.ofByteArray());
                    answer(r.statusCode(), "", r.headers().map(), r.body());
                }
            } catch (Exception e) {
                System.out.println("error " + e.toString().replaceAll("\\s+", " "));
            }
            System.out.println("end");
        }
        System.out.flush();
        System.exit(0);
    }

    private static void connection(String url) throws Exception {
        HttpURLConnection c = (HttpURLConnection) URI.create(url).toURL().openConnection();
        int status = c.getResponseCode();
        var in = status >= 400 ? c.getErrorStream() : c.getInputStream();
        byte[] body = in == null ? new byte[0] : in.readAllBytes();
        answer(status, c.getResponseMessage(), c.getHeaderFields(), body);
    }

    private static void answer(int status, String reason, Map<String, List<String>> fields, byte[] body) {
        System.out.println("status " + status);
        System.out.println("reason " + reason);
        fields.forEach((name, values) -> {
            if (name != null) { // HttpURLConnection keeps the status line under null
                values.forEach(value -> System.out.println("field " + name + ": " + value));
            }
        });
        System.out.println("body " + Base64.getEncoder().encodeToString(body));
    }
}
