import { StringDecoder } from 'node:string_decoder'

/**
 * Redacts secrets in the output of the app: through `console`, or to the streams of the process.
 */
export function redactOutput(redact: (text: string) => string): void {
  for (const stream of [process.stdout, process.stderr]) {
    const write = stream.write.bind(stream)
    // A write can end within a character.
    const decoder = new StringDecoder('utf8')
    stream.write = (chunk: string | Uint8Array, encoding?: unknown, done?: unknown) => {
      const callback = [encoding, done].find((each) => typeof each === 'function')
      const text = decoder.write(bytesOf(chunk, encoding))
      return write(redact(text), (error) => callback?.(error))
    }
  }
}

function bytesOf(chunk: string | Uint8Array, encoding: unknown): Buffer {
  if (typeof chunk !== 'string') return Buffer.from(chunk)
  return Buffer.from(chunk, typeof encoding === 'string' && Buffer.isEncoding(encoding) ? encoding : 'utf8')
}
