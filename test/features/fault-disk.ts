import { hash } from 'node:crypto'
import * as fs from 'node:fs'
import { type Disk, disk } from '../../src/lib/disk.ts'

export type FaultDisk = Disk & {
  isDown(): boolean
  /** Whether the step that failed belonged to the sync of a folder. */
  failedAtDir(): boolean
  /** After a crash: undoes a random part of what was never synced, as a loss of power may. */
  losePower(random: () => number): void
}

class Crash extends Error {}

/**
 * The real disk until step `at`. `crash`: that step is half done, and all later ones fail, as if
 * the process had been killed. `error`: only that step fails, as on a full or broken disk.
 */
export function createFaultDisk(at: number, mode: 'crash' | 'error'): FaultDisk {
  let count = 0
  let isDown = false
  let failedAtDir = false
  const paths = new Map<number, string>()
  const synced = new Map<string, number>()
  let renames: { from: string; to: string; old: string | undefined }[] = []

  const step = (half?: () => void, path = '') => {
    if (isDown) throw new Crash('the process is dead')
    count += 1
    if (count !== at) return
    failedAtDir = isDirectory(path)
    half?.()
    if (mode === 'crash') isDown = true
    throw mode === 'crash'
      ? new Crash(`crash at step ${at}`)
      : Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' })
  }

  return {
    isDown: () => isDown,
    failedAtDir: () => failedAtDir,
    open(path, flags) {
      step(undefined, path)
      const fd = disk.open(path, flags)
      paths.set(fd, path)
      if (!synced.has(path)) synced.set(path, fs.fstatSync(fd).size)
      return fd
    },
    write(fd, bytes) {
      step(() => disk.write(fd, bytes.subarray(0, bytes.length >> 1)))
      disk.write(fd, bytes)
    },
    async fsync(fd) {
      const path = paths.get(fd) ?? ''
      step(undefined, path)
      const before = renames.length
      const { size } = fs.fstatSync(fd)
      await disk.fsync(fd)
      if (isDown) throw new Crash('the process is dead')
      synced.set(path, size)
      if (!isDirectory(path)) return
      for (const { old } of renames.splice(0, before)) if (old) fs.rmSync(old)
    },
    truncate(fd, length) {
      step()
      disk.truncate(fd, length)
    },
    chmod(fd, mode) {
      step()
      disk.chmod(fd, mode)
    },
    // Also after the crash: the kernel closes what a dead process had open.
    close(fd) {
      paths.delete(fd)
      disk.close(fd)
    },
    rename(from, to) {
      step()
      let old: string | undefined
      if (fs.existsSync(to)) {
        old = `${to}.${count}.before`
        fs.linkSync(to, old)
      }
      renames.push({ from, to, old })
      disk.rename(from, to)
      const size = synced.get(from)
      if (size !== undefined) synced.set(to, size)
    },
    remove(path) {
      step()
      disk.remove(path)
    },
    makeDir: disk.makeDir,
    losePower(random) {
      for (const [path, size] of synced) {
        const found = fs.statSync(path, { throwIfNoEntry: false })
        if (!found?.isFile() || found.size <= size) continue
        fs.truncateSync(path, size + Math.floor(random() * (found.size - size + 1)))
      }
      const kept = Math.floor(random() * (renames.length + 1))
      for (const { from, to, old } of renames.splice(kept).reverse()) {
        fs.renameSync(to, from)
        if (old) fs.renameSync(old, to)
      }
      for (const { old } of renames) if (old) fs.rmSync(old, { force: true })
      renames = []
    },
  }
}

function isDirectory(path: string): boolean {
  return fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Random numbers from a seed, so that a failing round can be run again. */
export function seeded(seed: number): () => number {
  let count = 0
  return () => Number.parseInt(hash('sha256', `${seed} ${count++}`).slice(0, 8), 16) / 2 ** 32
}
