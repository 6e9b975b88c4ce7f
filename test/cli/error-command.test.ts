import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { main } from '../../src/cli/program.ts'
import { catalogue } from '../../src/core/errors.ts'

/** Runs `trivium error show …`. */
async function errorShow(...args: string[]) {
  let out = ''
  let err = ''
  const exit = await main(['error', 'show', ...args], {
    env: {},
    cwd: process.cwd(),
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
  })
  return { exit, out, err }
}

describe('trivium error show', () => {
  test('explains each code of the catalogue', async () => {
    for (const [code, facts] of Object.entries(catalogue)) {
      const { exit, out } = await errorShow(code, '--json')
      assert.equal(exit, 0, code)
      const { meaning, todo, status } = JSON.parse(out)
      assert.equal(status, facts.status)
      for (const text of [meaning, todo]) {
        assert.match(text, /^\S.*\.$/s, code)
        assert.doesNotMatch(text, /^HTTP|Message:|\]\(|\*\*|^#/m, code)
      }
    }
  })

  test('prints what it means and what to do', async () => {
    const { out } = await errorShow('call_unknown')
    assert.match(out, /^call_unknown: HTTP 409, exit code 1, .*\n\nIt is unknown .*\n\nWhat to do: Check /s)
  })

  test('suggests a code that is spelled like it', async () => {
    const { exit, err } = await errorShow('call_unkown')
    assert.equal(exit, 1)
    assert.match(err, /no error "?call_unkown"?.*call_unknown/)
  })
})
