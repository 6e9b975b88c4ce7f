/** Redacts secrets in what the app prints itself, by `console` or to the streams of the process. */
export function cleanOutput(cleaned: (text: string) => string): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream)
    stream.write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown) => {
      const then = [encoding, done].find((each) => typeof each === 'function')
      const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
      return write(cleaned(text), (error) => then?.(error))
    }
  }
}
