import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { DaemonProcess } from '../fixtures/daemon.ts'

/** The data received on a connection until the server closed it or sent nothing more. */
export type RawAnswer = { text: string; statuses: number[]; closed: boolean }

/** Opens a TCP connection to `http://host:port`, and ignores resets. */
export function openSocket(url: string): Socket {
  const { hostname, port } = new URL(url)
  return connect(Number(port), hostname).on('error', () => {})
}

/**
 * Sends bytes over a new connection and collects the answer, until the server closes the
 * connection, sends nothing for `waitFor` ms, or nothing more for `waitForMore` ms.
 */
export function sendRaw(
  url: string,
  bytes: string | Uint8Array,
  { waitFor = 5_000, waitForMore = 1_000 } = {},
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const socket = openSocket(url)
    let text = ''
    const finish = (closed: boolean) => {
      socket.destroy()
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
      resolve({ text, statuses, closed })
    }
    socket.setTimeout(waitFor, () => finish(false))
    socket.on('data', (chunk) => {
      socket.setTimeout(waitForMore)
      text += chunk.toString('latin1')
    })
    socket.on('close', () => finish(true))
    socket.write(bytes)
  })
}

/**
 * A request head with `connection: close`, so that the end of the answer is the end of the
 * connection.
 */
export function request(line: string, headers: readonly string[] = [], body = ''): string {
  const lines = [`${line} HTTP/1.1`, 'Host: test', 'Connection: close', ...headers]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

/** Resident memory of a daemon, in megabytes. */
export function memoryOf({ pid }: Pick<DaemonProcess, 'pid'>): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
