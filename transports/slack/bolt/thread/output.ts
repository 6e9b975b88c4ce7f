/** Redacts secrets in the output of the app: through `console`, or to the streams of the process. */
export function redactOutput(redact: (text: string) => string): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream)
    stream.write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown) => {
      const callback = [encoding, done].find((each) => typeof each === 'function')
      const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
      return write(redact(text), (error) => callback?.(error))
    }
  }
}
