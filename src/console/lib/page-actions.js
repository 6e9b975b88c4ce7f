import { keyedAction } from './keys.js'

/** Maximum number of actions of a page: a list may offer the same for each of its parts. */
const MAX_ACTIONS = 40
/** Maximum characters of the card that has an action. */
const MAX_PART = 70
/** Further words that find an action, by its name. */
const WORDS_OF = { 'No answer is needed …': 'settle resolve close', 'Send the answer': 'reply' }

/** Buttons of problems, of single rows, of filters and of the way through a list are no actions of a page. */
const NOT_ACTIONS = '.have-it, [role=listitem] *, tr *, .take, .filter *, .ways *, [aria-pressed=true]'

/** Buttons that remove something. */
const DESTRUCTIVE = '.danger, .removable *'

/**
 * What the open page offers: its buttons, by the names that assistive technology reads. Choosing
 * one presses the button, so it asks the same questions. With rows selected, the page has the
 * buttons for the selection.
 */
export function pageActions() {
  const found = new Map()
  for (const button of offeredButtons()) {
    const name = nameOf(button)
    const of = partOf(button)
    const key = `${name} ${of}`
    if (found.has(key)) continue
    const isDestructive = button.matches(DESTRUCTIVE)
    found.set(key, { name, about: of, more: WORDS_OF[name], isDestructive, run: () => press(name, of) })
  }
  const fields = FIELDS.flatMap(({ what, name, more }) => {
    const run = keyedAction(what)
    return run && !found.has(`${name} `) ? [{ name, more, run }] : []
  })
  return [...fields, ...[...found.values()].slice(0, MAX_ACTIONS)].map((action) => ({
    kind: 'this page',
    ...action,
  }))
}

/** Fields of a page that have a key. */
const FIELDS = [
  { what: 'answer', name: 'Write an answer', more: 'reply respond' },
  { what: 'note for colleagues', name: 'Write a note for colleagues' },
]

/** A page may have been rendered again since the palette was opened: the button is looked up. */
function press(name, of) {
  offeredButtons()
    .find((button) => nameOf(button) === name && partOf(button) === of)
    ?.click()
}

function offeredButtons() {
  return [...document.querySelectorAll('main button:enabled')].filter(
    (button) => !button.matches(NOT_ACTIONS) && isOffered(button) && /\p{L}/u.test(nameOf(button)),
  )
}

/** Whether a button is visible, or in a menu that is. */
function isOffered(button) {
  const menu = button.closest('.more-actions')
  return (menu ?? button).checkVisibility()
}

function nameOf(button) {
  return button.ariaLabel ?? textOf(button)
}

/** The card that has the button, by its heading or error: several cards may have the same button. */
function partOf(button) {
  const card = button.closest('.card')
  return textOf(card?.querySelector('h2, h3') ?? card?.querySelector('.error')).slice(0, MAX_PART)
}

/** The text of an element without the keys that it names. */
function textOf(element) {
  const parts = [...(element?.childNodes ?? [])].filter(({ localName }) => localName !== 'kbd')
  return parts
    .map(({ textContent }) => textContent)
    .join('')
    .replace(/\s+/g, ' ')
    .trim()
}
