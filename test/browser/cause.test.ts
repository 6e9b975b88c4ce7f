import assert from 'node:assert/strict'
import { test } from 'node:test'

const { patternInWords } = await import(new URL('../../src/console/lib/cause.js', import.meta.url).href)

test('numbers of an error that belong together are one gap', () => {
  assert.equal(
    patternInWords('Skill orders failed: #,# rows of #_# (v#.#.#) at #:#'),
    '… rows of … (v…) at …',
  )
})
