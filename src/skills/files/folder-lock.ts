import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as delay } from 'node:timers/promises'
import { reasonOf, TriviumError } from '../../core/errors.ts'

/** Mutual exclusion per name, within this process and between all that use the same folder. */
export type FolderLock = {
  /** Runs `work` while nobody else works under that name. Throws `state_locked` after 10 s of waiting. */
  hold<T>(name: string, work: () => Promise<T>): Promise<T>
  close(): void
}

/** `tail` settles when the last one in line is done. */
type Stripe = { database: DatabaseSync; tail: Promise<unknown> }

const STRIPES = 16
const PATIENCE = 10_000
const SQLITE_BUSY = 5

/**
 * Names share sixteen lock files by their hash. The kernel holds a lock for its process, so it is free the
 * moment its holder dies; Node has no call for such locks, SQLite takes them on an empty database.
 */
export function createFolderLock(folder: string): FolderLock {
  const stripes = new Map<number, Stripe>()

  const stripeOf = (name: string) => {
    const index = hash(name) % STRIPES
    const existing = stripes.get(index)
    if (existing) return existing
    const path = join(folder, `.lock-${index.toString(16)}`)
    const opened: Stripe = { database: openDatabase(path), tail: Promise.resolve() }
    stripes.set(index, opened)
    return opened
  }

  return {
    hold(name, work) {
      const stripe = stripeOf(name)
      const run = async () => {
        await takeLock(stripe.database, folder)
        try {
          return await work()
        } finally {
          if (stripe.database.isOpen) stripe.database.exec('COMMIT')
        }
      }
      const result = stripe.tail.then(run)
      // The next one in line waits for the end, however this one ended.
      stripe.tail = result.catch(() => {})
      return result
    },
    close() {
      for (const { database } of stripes.values()) if (database.isOpen) database.close()
      stripes.clear()
    },
  }
}

function openDatabase(path: string): DatabaseSync {
  try {
    return new DatabaseSync(path, { timeout: 0 })
  } catch (error) {
    throw new TriviumError('state_unwritable', { path, reason: reasonOf(error) }, { cause: error })
  }
}

async function takeLock(database: DatabaseSync, path: string): Promise<void> {
  for (const end = performance.now() + PATIENCE; !tryLock(database, path); ) {
    if (performance.now() >= end) throw new TriviumError('state_locked', { path, seconds: PATIENCE / 1000 })
    // A random pause, so that processes that wait do not come back in step.
    await delay(Math.random() * 3)
  }
}

function tryLock(database: DatabaseSync, path: string): boolean {
  try {
    database.exec('BEGIN EXCLUSIVE')
    return true
  } catch (error) {
    if (error instanceof Error && 'errcode' in error && error.errcode === SQLITE_BUSY) return false
    throw new TriviumError('state_unwritable', { path, reason: reasonOf(error) }, { cause: error })
  }
}

/** FNV-1a. */
function hash(text: string): number {
  let value = 0x811c9dc5
  for (const byte of Buffer.from(text)) value = Math.imul(value ^ byte, 0x01000193) >>> 0
  return value
}
