import { createHash } from 'node:crypto'
import { createReadStream, createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Artifacts } from '../../../src/core/transport.ts'
import type { ImapConnection } from '../imap-connection.ts'
import type { Listed } from './fetch.ts'
import type { Incoming } from './ingest.ts'
import type { Mail } from './parse.ts'
import { parseBigMail } from './parse-big.ts'

/** Where big mails wait on disk while they are read, so that their size never is memory. */
export type Spool = {
  /** Downloads one mail, in pieces, to a file that lives until the next one is fetched. */
  fetch(connection: ImapConnection, folder: string, listed: Listed): Promise<Incoming>
  /** Parses a mail in memory that is too much for the parser all the same. */
  parse(raw: Buffer): Promise<Mail>
  close(): Promise<void>
}

/** One fetch runs ahead of the mail that is worked on, so two files are in use at once. */
const SLOTS = 3

export function createSpool(artifacts: Artifacts, maxSize: number): Spool {
  let dir: string | undefined
  let slot = 0
  return {
    async fetch(connection, folder, listed) {
      dir ??= await mkdtemp(join(tmpdir(), 'trivium-mail-'))
      slot = (slot + 1) % SLOTS
      const path = join(dir, `${slot}.eml`)
      await connection.run(async (client) => {
        const { content } = await client.download(String(listed.uid), undefined, { uid: true })
        if (!content) throw new Error(`mail ${listed.uid} of ${folder} is gone`)
        await pipeline(content, createWriteStream(path, { mode: 0o600 }))
      })
      return {
        folder,
        ...listed,
        parse: () => parseBigMail(createReadStream(path), artifacts, maxSize),
        open: () => createReadStream(path),
        async hash() {
          const hash = createHash('sha256')
          for await (const chunk of createReadStream(path)) hash.update(chunk)
          return hash.digest('hex')
        },
      }
    },
    parse: (raw) => parseBigMail(Readable.from([raw]), artifacts, maxSize),
    async close() {
      if (dir) await rm(dir, { recursive: true, force: true })
      dir = undefined
    },
  }
}
