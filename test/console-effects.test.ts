import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const ROOT = new URL('../src/console/', import.meta.url)

/** The calls of `useEffect` in a source, each from its name to its closing parenthesis. */
function effectsIn(source: string): string[] {
  return [...source.matchAll(/\buseEffect\(/g)].map(({ index }) => {
    let depth = 0
    const end = [...source.slice(index)].findIndex((char) => {
      if (char === '(') depth++
      return char === ')' && --depth === 0
    })
    return source.slice(index, index + end)
  })
}

test('no key or typed text of a page acts after the page was left', () => {
  // Preact ends a `useEffect` of a page that was left only after the next one is painted.
  const files = globSync('**/*.js', { cwd: ROOT })
  assert.ok(files.length > 100)
  const late = files.flatMap((file) =>
    effectsIn(readFileSync(new URL(file, ROOT), 'utf8'))
      .filter((effect) => /\b(onKey|captureKeys|settle)\b/.test(effect))
      .map((effect) => `${file}: ${effect.slice(0, 80)}`),
  )
  assert.deepEqual(late, [])
})
