import { z } from 'zod'
import { shownAuthor } from '../core/author.ts'
import { unwritable } from '../core/errors.ts'
import { type Json, pathGet } from '../core/json.ts'
import { writeAtomically } from '../lib/disk.ts'
import { type ErasureJob, proofPage } from '../lib/proof-page.ts'
import { archivePath, STDIO } from './backup-archive.ts'
import { type Environs, usage } from './command.ts'
import type { Terminal } from './terminal.ts'

const numbers = z.record(z.string(), z.number())
const jobSchema: z.ZodType<ErasureJob> = z.object({
  id: z.string(),
  state: z.string(),
  by: z.string(),
  startedAt: z.number(),
  endedAt: z.number().exactOptional(),
  target: z
    .object({ reference: z.string().exactOptional(), messages: z.number().exactOptional() })
    .exactOptional(),
  result: z
    .object({
      counts: numbers.exactOptional(),
      kinds: z.record(z.string(), numbers).exactOptional(),
      open: numbers.exactOptional(),
      records: z.number().exactOptional(),
      receivers: z.array(z.string()).exactOptional(),
      outside: z.looseObject({}).exactOptional(),
      counted: z.number().exactOptional(),
      since: numbers.exactOptional(),
    })
    .exactOptional(),
})

/**
 * Writes the proof of an erasure to a file: a page (HTML), or JSON if its name ends in `.json`; `-` is
 * stdout. Throws `usage` for other jobs, and for one that still runs.
 */
export async function saveProof(
  result: Json,
  output: string,
  { environs, terminal }: { environs: Environs; terminal: Terminal },
): Promise<void> {
  const id = String(pathGet(result, 'id'))
  const job = pathGet(result, 'kind') === 'person-erase' ? jobSchema.safeParse(result).data : undefined
  if (!job) throw usage(`--output saves the proof of an erasure, and ${id} is another job`)
  if (job.endedAt === undefined) throw usage(`${id} still runs: save the proof when it has ended`)
  const path = archivePath(output, environs.cwd)
  const text = /\.json$/i.test(output)
    ? `${JSON.stringify(result, null, 2)}\n`
    : proofPage(job, shownAuthor(job.by))
  if (path === STDIO) return terminal.data(text)
  await writeAtomically(path, text).catch((error: unknown) => {
    throw unwritable(path, error)
  })
  terminal.out(`The proof is in ${path}\n`)
}
