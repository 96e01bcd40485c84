// Starts an example application as a child process and waits for the line with its address.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

export async function startExample(command, args, env) {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"], env: { ...process.env, ...env } });
  const gone = new Promise((resolve) => child.on("exit", resolve));
  const address = await new Promise((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => /^http:\/\/\S+$/.test(line) && resolve(line));
    gone.then(() => resolve(null));
  });
  if (address === null) throw new Error(`${command} ${args.join(" ")} ended at once`);
  return { address, stop: () => (child.kill(), gone) };
}
