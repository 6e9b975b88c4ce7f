import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { describe, test } from 'node:test'
import { parseMail } from '../../../transports/email/inbound/parse.ts'
import { hasTooManyLines, parseBigMail } from '../../../transports/email/inbound/parse-big.ts'
import fc from '../../fixtures/fast-check.ts'
import { startTransportFixture } from '../../fixtures/transport-deps.ts'
import { reading } from './reading.ts'

const DIR = join(import.meta.dirname, 'mails')
const names = (await readdir(DIR)).filter((name) => name.endsWith('.eml')).map((name) => name.slice(0, -4))
const originals = await Promise.all(names.map((name) => readFile(join(DIR, `${name}.eml`))))
const expected: Record<string, unknown> = JSON.parse(await readFile(join(DIR, 'expected.json'), 'utf8'))

describe('a mail is read as its sender meant it', () => {
  for (const name of names) {
    test(name.replaceAll('-', ' '), async () => {
      assert.deepEqual(await reading(await readFile(join(DIR, `${name}.eml`))), expected[name])
    })
  }

  test('every expectation has its mail', () => {
    assert.deepEqual(Object.keys(expected).sort(), names.sort())
  })
})

describe('a mail that nobody meant to write', () => {
  test('is read without a throw, whatever its bytes', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 2000 }), async (bytes) => {
        const mail = await parseMail(bytes)
        assert.equal(typeof mail.text, 'string')
      }),
      { numRuns: 300 },
    )
  })

  test('is read without a throw when a real one is damaged', async () => {
    const damage = fc.record({
      mail: fc.nat(originals.length - 1),
      cut: fc.nat(3000),
      at: fc.nat(3000),
      noise: fc.uint8Array({ maxLength: 20 }),
    })
    await fc.assert(
      fc.asyncProperty(damage, async ({ mail, cut, at, noise }) => {
        const raw = originals[mail] ?? Buffer.alloc(0)
        const broken = Buffer.concat([raw.subarray(0, at), noise, raw.subarray(at, raw.length - cut)])
        const result = await reading(broken)
        assert.doesNotMatch(result.subject ?? '', /[\r\n\0]/)
        for (const part of result.parts) assert.doesNotMatch(part.split(' ')[0] ?? '', /[\r\n]/)
      }),
      { numRuns: 300 },
    )
  })

  test('takes time in proportion to its size, also where it is made to take more', async () => {
    const lines = [
      'On '.repeat(20_000),
      `On ${'wrote '.repeat(20_000)}`,
      `From: ${'<'.repeat(60_000)}`,
      '>'.repeat(100_000),
    ]
    for (const line of [...lines, lines.join('\n'), 'On a\n'.repeat(30_000), 'From: a\n'.repeat(20_000)]) {
      const start = performance.now()
      await reading(
        Buffer.from(
          `From: a@example.net\nIn-Reply-To: <x@y>\nSubject: ${line.slice(0, 50_000)}\n\n${line}\n`,
        ),
      )
      assert.ok(
        performance.now() - start < 2000,
        `${line.slice(0, 20)}… took ${performance.now() - start} ms`,
      )
    }
  })

  test('with a million lines, or nothing but boundaries, is cut short and says so', async () => {
    const fixture = await startTransportFixture()
    const lines = `Subject: lines\n\n${'\n'.repeat(900_000)}`
    const parts = `Subject: parts\nContent-Type: multipart/mixed; boundary=B\n\n${'--B\n\n'.repeat(100_000)}`
    for (const raw of [lines, parts]) {
      const start = performance.now()
      assert.ok(hasTooManyLines(Buffer.from(raw)))
      const mail = await parseBigMail(Readable.from([Buffer.from(raw)]), fixture.deps.artifacts, 1_000_000)
      assert.ok(mail.unreadable)
      assert.ok(mail.subject)
      assert.ok(performance.now() - start < 5000)
    }
    await fixture.close()
  })
})
