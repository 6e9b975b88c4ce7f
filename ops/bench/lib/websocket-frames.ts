import { once } from 'node:events'
import type { Socket } from 'node:net'

const TEXT_BYTES = 1024
const ID_LENGTH = 32

/**
 * Makes masked text frames (RFC 6455) with `{"type":"message","id",…}` and 1 KB of text. The mask is zero, so that
 * the bytes stand as they are. Valid until the next call.
 */
export function createFrames(worker: string): () => Buffer {
  const before = '{"type":"message","id":"'
  const body = `${before}${'0'.repeat(ID_LENGTH)}","text":"${'A kilobyte of text. '.repeat(60).slice(0, TEXT_BYTES)}"}`
  const frame = Buffer.alloc(8 + body.length)
  frame[0] = 0x81
  frame[1] = 0x80 | 126
  frame.writeUInt16BE(body.length, 2)
  frame.write(body, 8, 'latin1')
  const at = 8 + before.length
  frame.write(worker.padStart(ID_LENGTH - 10, '0'), at, 'latin1')
  let serial = 0
  return () => {
    frame.write(String(serial++).padStart(10, '0'), at + ID_LENGTH - 10, 'latin1')
    return frame
  }
}

/** The length of the server's frame at the start of the bytes; 0 where it is not complete. */
export function frameLength(bytes: Buffer): number {
  if (bytes.length < 2) return 0
  const short = (bytes[1] ?? 0) & 0x7f
  if (short === 126 && bytes.length < 4) return 0
  const whole = short === 126 ? 4 + bytes.readUInt16BE(2) : 2 + short
  return bytes.length >= whole ? whole : 0
}

/** Acks and echoes are good, errors are not. */
export function isGoodFrame(bytes: Buffer): boolean {
  return !bytes.subarray(0, 40).includes('"error"')
}

/** Shakes hands, and takes in a greeting where the server has one. */
export async function openWebSocket(socket: Socket, path: string, hasGreeting: boolean): Promise<void> {
  const head = [`GET ${path} HTTP/1.1`, 'Host: 127.0.0.1', 'Connection: Upgrade', 'Upgrade: websocket']
  const key = ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', '', '']
  socket.write([...head, ...key].join('\r\n'))
  let bytes: Buffer = Buffer.alloc(0)
  for (;;) {
    const [chunk]: Buffer[] = await once(socket, 'data')
    if (chunk) bytes = Buffer.concat([bytes, chunk])
    const end = bytes.indexOf('\r\n\r\n')
    if (end < 0) continue
    if (!bytes.subarray(0, 12).includes('101')) throw new Error(bytes.toString())
    if (!hasGreeting || frameLength(bytes.subarray(end + 4)) > 0) return
  }
}
