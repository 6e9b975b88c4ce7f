import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

/** A rule of a style sheet. `media`: the condition of its block; undefined outside of one. */
type Rule = { media: string | undefined; selector: string; properties: Set<string> }

/** The rules of a style sheet of the console. Each rule is on a line of its own. */
function rulesOf(name: string): Rule[] {
  let media: string | undefined
  return readFileSync(new URL(`../src/console/${name}`, import.meta.url), 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [, condition, rest = line] = /^@media ([^{]*)\{(.*)$/.exec(line) ?? []
      if (condition && rest.trim() === '') media = condition
      if (line === '}') media = undefined
      return [...rest.matchAll(/([^{}]+)\{([^{}]*)\}/g)].flatMap(([, selectors = '', body = '']) => {
        const properties = new Set(body.split(';').flatMap((each) => each.split(':', 1)[0]?.trim() || []))
        return selectors
          .split(',')
          .map((each) => ({ media: media ?? condition, selector: each.trim(), properties }))
      })
    })
}

test('no rule of a media query is undone by the style sheet that is loaded later', () => {
  const later = rulesOf('later.css').filter(({ media }) => media === undefined)
  assert.ok(later.length > 100)
  const undone = rulesOf('console.css')
    .filter(({ media }) => media !== undefined)
    .filter(({ selector, properties }) =>
      later.some((rule) => rule.selector === selector && !rule.properties.isDisjointFrom(properties)),
    )
  assert.deepEqual(
    undone.map(({ media, selector }) => `${media}: ${selector}`),
    [],
  )
})
