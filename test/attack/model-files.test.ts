import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { deflateSync } from 'node:zlib'
import { attachmentSettings, readFiles } from '../../src/runtime/model/attachments.ts'
import { inTime } from '../fixtures/in-time.ts'

const OPENS = '1 0 obj\n<< /Type /ObjStm >>\nstream\n'
const zeros = deflateSync(Buffer.alloc(15 * 1024 * 1024))
const broken = Buffer.concat([zeros.subarray(0, -4), Buffer.from([1, 2, 3, 4])])
const stream = (packed: Buffer) => Buffer.concat([Buffer.from(OPENS), packed, Buffer.from('\nendstream\n')])
const many = (part: Buffer, size: number) =>
  Buffer.concat(Array.from({ length: Math.floor(size / part.length) }, () => part))

const FILES: Record<string, Buffer> = {
  'streams that never end': Buffer.from(OPENS.repeat(120_000)),
  'streams within a stream': Buffer.from(`${OPENS.repeat(120_000)}endstream`),
  'a bomb in many streams': many(stream(zeros), 4_000_000),
  'bombs with a wrong checksum at their end': many(stream(broken), 4_000_000),
}

describe('a PDF for a model', () => {
  for (const [name, body] of Object.entries(FILES)) {
    test(`is checked quickly: ${name}`, async () => {
      const bytes = Buffer.concat([Buffer.from('%PDF-1.7\n/Type /Page\n'), body])
      const attachment = {
        name: 'a.pdf',
        type: 'application/pdf',
        size: bytes.length,
        sha256: hash('sha256', bytes),
        path: 'a',
      }
      const artifacts = { open: async () => Readable.from([bytes]) }
      const context = { services: { artifacts }, call: {}, log: { warn: assert.fail } }
      const settings = attachmentSettings.parse({})
      await inTime(name, 1_500, () =>
        readFiles([{ id: '1', attachments: [attachment] } as never], settings, context as never),
      )
    })
  }
})
