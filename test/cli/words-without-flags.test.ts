import assert from 'node:assert/strict'
import { test } from 'node:test'
import { argsOfBuiltIn, commandFor, describedSkill, readPositional } from '../../src/cli/skill-flags.ts'
import { skillJsonSchema } from '../../src/core/skill.ts'

/** The arguments that words without flags give to a built-in skill. */
function wordsOf(skill: string, ...words: string[]) {
  const args = argsOfBuiltIn(skill)
  assert.ok(args)
  const { args: schema, ...described } = describedSkill.parse({
    kind: 'built-in',
    args: skillJsonSchema({ args }),
  })
  const { flags, command } = commandFor(skill, { ...described, args: schema })
  return { usage: command.usage(), args: readPositional(words, {}, schema, flags) }
}

test('words after `message search` are its search, unless they are part of an id', () => {
  assert.deepEqual(wordsOf('message-search', 'lindqvist').args, { search: 'lindqvist' })
  assert.deepEqual(wordsOf('message-search', 'from:petra', 'late').args, { search: 'from:petra late' })
  assert.deepEqual(wordsOf('message-search', '5110').args, { search: '5110' })
  for (const id of ['01a227c3', '01a2', '5d979b01-1'])
    assert.deepEqual(wordsOf('message-search', id).args, { id }, id)
  assert.match(wordsOf('message-search').usage, /\[search or id\]/)
})

test('other commands take words by their position', () => {
  assert.deepEqual(wordsOf('message-show', 'lindqvist').args, { id: 'lindqvist' })
  assert.throws(() => wordsOf('message-show', '01a227c3', 'late'), /one argument too many/)
})

test('a text takes all words that are left', () => {
  assert.deepEqual(wordsOf('person-list', 'petra', 'novak').args, { name: 'petra novak' })
  assert.deepEqual(wordsOf('task-add', 'call', 'Petra', 'back').args, { title: 'call Petra back' })
})
