import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { DaemonProcess } from '../fixtures/daemon.ts'

/** What came back on a connection until the other side ended it, or fell silent. */
export type RawAnswer = { text: string; statuses: number[]; closed: boolean }

/** Opens a plain TCP connection to `http://host:port`; a reset is no error of the test. */
export function openSocket(url: string): Socket {
  const { hostname, port } = new URL(url)
  return connect(Number(port), hostname).on('error', () => {})
}

/**
 * Sends bytes as they are over a connection of their own and collects what comes back, until the other side hangs
 * up, nothing came at all for `ms`, or nothing more for `more` ms.
 */
export function sendRaw(
  url: string,
  bytes: string | Uint8Array,
  ms = 5_000,
  more = 1_000,
): Promise<RawAnswer> {
  return new Promise((resolve) => {
    const socket = openSocket(url)
    let text = ''
    const finish = (closed: boolean) => {
      socket.destroy()
      const statuses = [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))
      resolve({ text, statuses, closed })
    }
    socket.setTimeout(ms, () => finish(false))
    socket.on('data', (chunk) => {
      socket.setTimeout(more)
      text += chunk.toString('latin1')
    })
    socket.on('close', () => finish(true))
    socket.write(bytes)
  })
}

/** A request head with `connection: close`, so that the end of the answer is the end of the connection. */
export function request(line: string, headers: readonly string[] = [], body = ''): string {
  const lines = [`${line} HTTP/1.1`, 'Host: test', 'Connection: close', ...headers]
  return `${lines.join('\r\n')}\r\n\r\n${body}`
}

/** Resident memory of a daemon, in megabytes. */
export function memoryOf({ pid }: Pick<DaemonProcess, 'pid'>): number {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kilobytes) / 1024
}
