import { signal } from '@preact/signals'

const KEY = 'trivium-tests'
const MAX_TESTS = 20
/** Larger tests are not remembered. */
const MAX_SIZE = 20_000

/** The tests of this browser, newest first: `{ key, at, gateway, values, id, outcome, … }`. */
export const tests = signal(read())

// Another tab.
addEventListener('storage', ({ key }) => {
  if (key === KEY) tests.value = read()
})

function read() {
  try {
    const found = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(found)
      ? found.filter((each) => typeof each?.gateway === 'string' && each.values)
      : []
  } catch {
    return []
  }
}

function write(next) {
  tests.value = next
  const small = next.filter((each) => JSON.stringify(each.values).length <= MAX_SIZE)
  // If the storage is full or forbidden, only the history is lost.
  try {
    localStorage.setItem(KEY, JSON.stringify(small))
  } catch {}
}

/** Adds a test, or replaces it when its outcome is known. */
export function noteTest(test) {
  const others = tests.peek().filter(({ key }) => key !== test.key)
  write([test, ...others].toSorted((a, b) => b.at - a.at).slice(0, MAX_TESTS))
}

export function forgetTests() {
  write([])
}
