import assert from 'node:assert/strict'
import { test } from 'node:test'
import { commandProblem } from './command-lines.ts'

test('commands and options that the help does not list are reported', async () => {
  for (const [script, problem] of [
    ['trivium message list --limit 3', undefined],
    ['trivium message cli hi --wait 3', undefined],
    ['trivium status --json', undefined],
    ['trivium message list --lim 3', /no option --lim:/],
    ['trivium message cli hi --wai 3', /no option --wai:/],
    ['trivium message list --limits 3', /no option --limits:/],
    ['trivium mesage list', /no command mesage:/],
  ] as const) {
    const found = await commandProblem(script)
    if (problem) assert.match(found ?? '', problem)
    else assert.equal(found, undefined)
  }
})
