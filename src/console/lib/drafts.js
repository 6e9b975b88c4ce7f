import { effect } from '@preact/signals'
import { useState } from 'preact/hooks'
import { person } from './api.js'

/** Texts that are written but not sent, by their places. They are lost when the tab is closed. */
const drafts = new Map()

/** The values of forms that can be given again, by their places. They are lost with the tab, too. */
const forms = new Map()

/** Who wrote them. */
let author

// After the end of a session, they are there again for the same person only.
effect(() => {
  if (!person.value) return
  if (person.value.id !== author) {
    drafts.clear()
    forms.clear()
  }
  author = person.value.id
})

addEventListener('beforeunload', (event) => {
  if ([...drafts.values()].some((text) => text.trim() !== '')) event.preventDefault()
})

/** `[text, setText]` of a field, kept for this tab when its page is left. */
export function useDraft(...place) {
  const key = JSON.stringify(place)
  const [text, setText] = useState(drafts.get(key) ?? '')
  const set = (next) => {
    if (next === '') drafts.delete(key)
    else drafts.set(key, next)
    setText(next)
  }
  return [text, set]
}

/** What was kept of a form when its page was left. */
export const keptForm = (place) => forms.get(place)

export const keepForm = (place, values) => forms.set(place, values)
