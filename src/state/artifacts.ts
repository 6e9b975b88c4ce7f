import { createHash } from 'node:crypto'
import { createReadStream, type Dir, existsSync, statSync } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { TriviumError } from '../core/errors.ts'
import type { Attachment } from '../core/message.ts'
import type { Artifacts } from '../core/transport.ts'
import { type Disk, disk, isMissing, syncDir, temporaryName } from '../lib/disk.ts'
import { createArtifactReferences } from './artifact-references.ts'

export type ArtifactStore = Artifacts & {
  has(sha256: string): boolean
  /** Names an artifact for `owner` (`document:state`, `message:ID`), durably; the same pair counts once. */
  hold(sha256: string, owner: string): void
  /** Ends every reference of `owner`; returns how many there were. */
  drop(owner: string): number
  owners(sha256: string): string[]
  /**
   * Removes artifacts that have no owner, that `named` does not know either, and that nobody saved within
   * `grace` ms (a message that will name it may still be on its way); also temporary files of dead writers.
   * Safe while others save and hold, in any process.
   */
  sweep(options: SweepOptions): Promise<{ removed: number; kept: number; bytes: number }>
  close(): void
}

export type SweepOptions = { grace: number; named?: (sha256: string) => boolean | Promise<boolean> }

/**
 * Large things beside the store, as `<data dir>/artifacts/<first two digits>/<sha256>`. The same bytes are
 * kept once. `gateway` only stands in the error about the limit.
 */
export function createArtifacts(
  dataDir: string,
  options: { gateway?: string; disk?: Disk; now?: () => number } = {},
): ArtifactStore {
  const target = options.disk ?? disk
  const now = options.now ?? Date.now
  const root = join(dataDir, 'artifacts')
  const incoming = join(root, 'incoming')
  const references = createArtifactReferences(join(root, 'references.db'), () => target.makeDir(root))
  const pathOf = (sha256: string) => join(root, checked(sha256).slice(0, 2), sha256)

  const place = async (temporary: string, sha256: string) => {
    const shard = join(root, sha256.slice(0, 2))
    const isNew = !existsSync(shard)
    target.makeDir(shard)
    // Always renamed, also over the same bytes: the new file's age protects it from a sweep.
    references.exclusively(() => target.rename(temporary, join(shard, sha256)))
    await syncDir(shard, target)
    if (isNew) await syncDir(root, target)
  }

  return {
    async save(name, type, body, limit) {
      target.makeDir(incoming)
      const temporary = temporaryName(join(incoming, 'body'))
      const written = await receive(target, temporary, body, limit, options.gateway ?? '')
      await place(temporary, written.sha256)
      const path = `artifacts/${written.sha256.slice(0, 2)}/${written.sha256}`
      return { name, type, ...written, path } satisfies Attachment
    },
    open(sha256) {
      const path = pathOf(sha256)
      if (!existsSync(path)) throw new TriviumError('artifact_not_found', { sha256 })
      return createReadStream(path)
    },
    has: (sha256) => existsSync(pathOf(sha256)),
    hold(sha256, owner) {
      const path = pathOf(sha256)
      references.add(sha256, owner, () => {
        if (!existsSync(path)) throw new TriviumError('artifact_not_found', { sha256 })
      })
    },
    drop: (owner) => references.drop(owner),
    owners: (sha256) => references.owners(sha256),
    async sweep({ grace, named }) {
      const done = { removed: 0, kept: 0, bytes: 0 }
      const oldest = now() - grace
      for await (const { path, sha256 } of stored(root)) {
        const size = await sweepOne(path, sha256, oldest)
        if (size === undefined) done.kept += 1
        else {
          done.removed += 1
          done.bytes += size
        }
      }
      await removeOld(target, incoming, oldest)
      return done

      async function sweepOne(path: string, sha256: string, before: number): Promise<number | undefined> {
        if (!isOld(path, before) || references.owners(sha256).length > 0) return undefined
        if (await named?.(sha256)) return undefined
        // Looked at again where nobody can save or hold it: it may have been named while we asked.
        return references.exclusively(() => {
          if (!isOld(path, before) || references.owners(sha256).length > 0) return undefined
          const { size } = statSync(path)
          target.remove(path)
          return size
        })
      }
    },
    close: () => references.close(),
  }
}

async function receive(target: Disk, path: string, body: Readable, limit: number, gateway: string) {
  const hash = createHash('sha256')
  const fd = target.open(path, 'w')
  let size = 0
  let complete = false
  try {
    for await (const chunk of body) {
      const bytes: Uint8Array = typeof chunk === 'string' ? Buffer.from(chunk) : chunk
      size += bytes.length
      if (size > limit) throw new TriviumError('body_too_large', { limit, gateway })
      hash.update(bytes)
      target.write(fd, bytes)
    }
    await target.fsync(fd)
    complete = true
  } finally {
    target.close(fd)
    if (!complete) target.remove(path)
  }
  return { size, sha256: hash.digest('hex') }
}

function checked(sha256: string): string {
  if (!/^[0-9a-f]{64}$/.test(sha256)) throw new TriviumError('artifact_not_found', { sha256 })
  return sha256
}

async function* stored(root: string): AsyncGenerator<{ path: string; sha256: string }> {
  for await (const shard of entries(root)) {
    if (!/^[0-9a-f]{2}$/.test(shard)) continue
    for await (const sha256 of entries(join(root, shard))) yield { path: join(root, shard, sha256), sha256 }
  }
}

async function* entries(path: string): AsyncGenerator<string> {
  let dir: Dir
  try {
    dir = await opendir(path)
  } catch (error) {
    if (isMissing(error)) return
    throw error
  }
  for await (const entry of dir) yield entry.name
}

function isOld(path: string, before: number): boolean {
  const found = statSync(path, { throwIfNoEntry: false })
  return found !== undefined && found.mtimeMs <= before
}

async function removeOld(target: Disk, dir: string, before: number): Promise<void> {
  for await (const name of entries(dir)) if (isOld(join(dir, name), before)) target.remove(join(dir, name))
}
