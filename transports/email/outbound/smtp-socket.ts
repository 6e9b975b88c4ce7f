import { connect, type Socket } from 'node:net'

/** Timeouts (ms). */
export type SmtpTiming = {
  /** For connecting and each response. */
  step: number
  /** For the response to a complete mail, which servers scan first. */
  end: number
}

/** Some servers delay the greeting by half a minute. */
export const SMTP_TIMING: SmtpTiming = { step: 60_000, end: 300_000 }

/**
 * What a connection waits for: nothing, the response to a command, or the response to a complete
 * mail.
 */
export type Awaited = 'nothing' | 'step' | 'end'

/** Time for QUIT before remaining connections are destroyed. */
const QUIT_TIMEOUT_MS = 2_000
/** Maximum interval between two checks of the sockets. */
const CHECK_MS = 1_000

/**
 * `bytes`: transferred in both directions. `at`: the last time when a byte was transferred, or when
 * no response was awaited.
 */
type Progress = { bytes: number; at: number }

/**
 * Opens the sockets of a connection, one after another. Destroys a socket if the server stays
 * silent while a response is `awaited`. nodemailer has a single timeout for all steps, but the
 * response to a complete mail may take minutes.
 */
export function createSmtpSockets(timing: SmtpTiming, awaited: () => Awaited) {
  const sockets = new Map<Socket, Progress>()
  /** Including sockets that are still connecting. */
  const all = new Set<Socket>()
  let timer: NodeJS.Timeout | undefined

  /** How long (ms) no byte has been sent or received while a response is awaited. */
  const silenceOf = ({ at }: Progress) => (awaited() === 'nothing' ? 0 : performance.now() - at)

  const updateProgress = (socket: Socket, progress: Progress) => {
    const bytes = transferred(socket)
    if (bytes === progress.bytes && awaited() !== 'nothing') return
    progress.bytes = bytes
    progress.at = performance.now()
  }

  const destroySilent = () => {
    const limit = awaited() === 'end' ? timing.end : timing.step
    for (const [socket, progress] of sockets) {
      updateProgress(socket, progress)
      const silence = silenceOf(progress)
      if (silence <= limit) continue
      const seconds = Math.round(silence / 1000)
      const verb = socket.bytesRead === 0 ? 'greet' : 'answer'
      socket.destroy(new Error(`the SMTP server did not ${verb} for ${seconds} s`))
    }
  }

  const watch = (socket: Socket) => {
    sockets.set(socket, { bytes: 0, at: performance.now() })
    timer ??= setInterval(destroySilent, Math.min(CHECK_MS, timing.step / 4)).unref()
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
      const timeout = setTimeout(() => socket.destroy(late), timing.step)
      let isOpen = false
      all.add(socket)
      socket.once('close', () => {
        clearTimeout(timeout)
        all.delete(socket)
      })
      // Never removed, because an error event without a listener would end the process.
      socket.on('error', (error) => {
        if (!isOpen) done(error)
      })
      socket.once('connect', () => {
        clearTimeout(timeout)
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
      }, QUIT_TIMEOUT_MS).unref()
    },
    /** Longest silence (ms) of the server; 0 if no response is awaited. */
    longestSilence(): number {
      for (const [socket, progress] of sockets) updateProgress(socket, progress)
      return Math.max(0, ...sockets.values().map(silenceOf))
    },
  }
}

/** Bytes that were sent and received. */
function transferred({ bytesRead, bytesWritten, writableLength }: Socket): number {
  // `bytesWritten` includes bytes that are still in our buffer.
  const sent = bytesWritten - writableLength
  return bytesRead + sent
}
