import { availableParallelism, cpus } from 'node:os'

/** Files that run at the same time at least and at most, per core: most of them wait half of the time. */
const FEWEST_PER_CORE = 2
const MOST_PER_CORE = 4
/** How often (ms) one more file may begin because a part of a core is free. */
const SAMPLE_MS = 500
/** A core is free if it was idle for this share of the time. */
const FREE_SHARE = 0.4
/** Memory (bytes) that must be free for one more file: twice that of a process with daemons. */
const FREE_MEMORY = 1.5 * 2 ** 30

type Machine = { sampleMs: number; hasRoom(): boolean }

export type Pace = ReturnType<typeof createPace>

/** The pace of `jobs` files at the same time; by default of as many as keep the cores busy. */
export function paceOf(jobs: number | undefined): Pace {
  const cores = availableParallelism()
  const fewest = jobs ?? cores * FEWEST_PER_CORE
  // With fewer cores than the machine has (a quota), the idle time of the machine says nothing.
  const most = jobs ?? (cpus().length === cores ? cores * MOST_PER_CORE : fewest)
  return createPace(fewest, most, { sampleMs: SAMPLE_MS, hasRoom: watchMachine() })
}

/**
 * Decides when the next of up to `most` files may begin: immediately while fewer than `fewest` run, and later
 * once the machine has room, because the others wait for timers and servers. Files that compute thus
 * do not slow each other down.
 */
export function createPace(fewest: number, most: number, { sampleMs, hasRoom }: Machine) {
  const waiting: (() => void)[] = []
  let running = 0
  let isFinished = false
  let timer: NodeJS.Timeout | undefined

  const admit = () => {
    running++
    waiting.pop()?.()
  }
  const stopLooking = () => {
    clearInterval(timer)
    timer = undefined
  }
  const look = () => {
    if (hasRoom()) admit()
    if (waiting.length === 0) stopLooking()
  }

  return {
    most,
    /** Resolves when a file may begin. Who asked last is first, because their process is warm. */
    begin(): Promise<void> {
      return new Promise((resolve) => {
        waiting.push(resolve)
        if (running < fewest || isFinished) return admit()
        if (timer !== undefined) return
        hasRoom()
        timer = setInterval(look, sampleMs)
      })
    },
    /** A file has ended. */
    end(): void {
      running--
      if (waiting.length > 0 && running < fewest) admit()
    },
    /** Called when no files are left: releases everybody who waits. */
    finish(): void {
      isFinished = true
      while (waiting.length > 0) admit()
      stopLooking()
    },
  }
}

/** Whether a part of a core was free since the last call, and memory is free. */
function watchMachine(): () => boolean {
  const read = () => ({ at: performance.now(), idle: cpus().reduce((sum, { times }) => sum + times.idle, 0) })
  let last = read()
  return () => {
    const before = last
    last = read()
    const freeCores = (last.idle - before.idle) / (last.at - before.at)
    return freeCores > FREE_SHARE && process.availableMemory() > FREE_MEMORY
  }
}
