import { connect, type Socket } from 'node:net'

/** Timeouts in ms. `step`: for connecting and each response. `end`: for the response to a complete mail, which servers check first. */
export type SmtpTiming = { step: number; end: number }

/** Some servers delay the greeting by half a minute. */
export const SMTP_TIMING: SmtpTiming = { step: 60_000, end: 300_000 }

/** What a connection waits for: nothing, the response to a command, or the response to a complete mail. */
export type Awaited = 'nothing' | 'step' | 'end'

/** Timeout (ms) for QUIT when all connections are closed. */
const GOODBYE = 2000

/** Bytes in both directions, and the time of the last one. */
type Watched = { progress: number; since: number }

/**
 * Opens SMTP sockets, and destroys those with a silent server while a mail is being sent. nodemailer has a single timeout for all steps,
 * but the response to a complete mail may take minutes.
 */
export function createSmtpSockets(timing: SmtpTiming, awaited: () => Awaited) {
  const sockets = new Map<Socket, Watched>()
  /** Including sockets that are still connecting. */
  const all = new Set<Socket>()
  let timer: NodeJS.Timeout | undefined

  const silenceOf = (socket: Socket, watched: Watched) => {
    const progress = socket.bytesRead + socket.bytesWritten - socket.writableLength
    if (progress !== watched.progress || awaited() === 'nothing') {
      watched.progress = progress
      watched.since = performance.now()
    }
    return performance.now() - watched.since
  }

  const look = () => {
    const limit = awaited() === 'end' ? timing.end : timing.step
    for (const [socket, watched] of sockets) {
      const silence = silenceOf(socket, watched)
      if (silence <= limit) continue
      const seconds = Math.round(silence / 1000)
      const during = socket.bytesRead === 0 ? 'not greet' : 'not answer'
      socket.destroy(new Error(`the SMTP server did ${during} for ${seconds} s`))
    }
  }

  const watch = (socket: Socket) => {
    sockets.set(socket, { progress: 0, since: performance.now() })
    timer ??= setInterval(look, Math.min(1000, timing.step / 4)).unref()
    socket.once('close', () => {
      sockets.delete(socket)
      if (sockets.size > 0) return
      clearInterval(timer)
      timer = undefined
    })
  }

  return {
    /** For nodemailer's `getSocket`: connects and watches. */
    open(
      host: string,
      port: number,
      done: (error: Error | null, opened?: { connection: Socket }) => void,
    ): void {
      const socket = connect({ host, port, keepAlive: true })
      const late = new Error(`no connection to ${host}:${port} within ${timing.step / 1000} s`)
      const patience = setTimeout(() => socket.destroy(late), timing.step)
      let isOpen = false
      all.add(socket)
      socket.once('close', () => {
        clearTimeout(patience)
        all.delete(socket)
      })
      // Never removed, because an error event without a listener would end the process.
      socket.on('error', (error) => {
        if (!isOpen) done(error)
      })
      socket.once('connect', () => {
        clearTimeout(patience)
        isOpen = true
        watch(socket)
        done(null, { connection: socket })
      })
    },
    /** Closes remaining connections soon, without keeping the process alive. */
    close(): void {
      for (const socket of all) socket.unref()
      setTimeout(() => {
        for (const socket of all) socket.destroy(new Error('the gateway was stopped'))
      }, GOODBYE).unref()
    },
    /** Longest silence (ms) of the server on a connection that waits for a response. */
    longestSilence(): number {
      if (awaited() === 'nothing') return 0
      return Math.max(0, ...[...sockets].map(([socket, watched]) => silenceOf(socket, watched)))
    },
  }
}
