import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { keepForm, keptForm } from '../lib/drafts.js'
import { html } from '../lib/html.js'

/** The form of test messages, as it was left: `{ gateway, values, filled }`. */
const FORM = 'compose'

/** The gateway of the form that was left. */
export const gatewayLeft = () => keptForm(FORM)?.gateway

/**
 * The values of a test message. If the gateway changes, what was filled in for the gateway before
 * goes, and what a person has changed stays: `kept` says what, and from which gateway.
 * `gateway`: undefined until it is known. `usual`: the first values of a test at this gateway.
 */
export function useTestValues(gateway, query, usual) {
  const isGiven = query.text !== undefined || query.like !== undefined
  const [left] = useState(() =>
    isGiven || (query.gateway ?? gatewayLeft()) !== gatewayLeft() ? undefined : keptForm(FORM),
  )
  const [values, setValues] = useState(() =>
    left ? left.values : { ...(!isGiven && usual), ...query, ...(query.like && { text: '' }) },
  )
  const filled = useRef(left?.filled ?? values)
  const writtenFor = useRef(left?.gateway ?? gateway)
  const [kept, setKept] = useState()
  // Before anything else can be chosen, which would be lost.
  useLayoutEffect(() => {
    const before = writtenFor.current
    if (gateway === undefined || before === gateway) return
    writtenFor.current = gateway
    if (before === undefined && isGiven) return
    const own = changesOf(values, filled.current)
    filled.current = usual
    setValues({ ...usual, ...own })
    if (before === undefined) return
    setKept({ from: kept?.from ?? before, names: Object.keys(own) })
  }, [gateway])
  /** Replaces all values by those of a sample or a message. `at`: the gateway they are for. */
  const fill = (next, at = writtenFor.current) => {
    writtenFor.current = at
    filled.current = next
    setKept(undefined)
    setValues(next)
  }
  const set = (name, value) => {
    setKept(undefined)
    setValues((last) => ({ ...last, [name]: value }))
  }
  // A layout effect: leaving the page would drop a later one.
  useLayoutEffect(() => {
    if (gateway !== undefined) keepForm(FORM, { gateway, values, filled: filled.current })
  }, [gateway, values])
  return { values, set, fill, kept }
}

/** The values that differ from those filled in, without the empty ones. */
function changesOf(values, filled) {
  const isOwn = ([name, value]) => value && value.trim() !== '' && value !== filled[name]
  return Object.fromEntries(Object.entries(values).filter(isOwn))
}

/** Says which fields were written for another gateway. */
export function KeptNote({ kept, gateway, fields }) {
  const names = fields.map(({ name }) => name).filter((name) => kept?.names.includes(name))
  if (names.length === 0 || kept.from === gateway) return null
  return html`<p class="warn-text" role="status">Written for ${kept.from}, kept because you changed it: ${names.join(', ')}. Check that it fits ${gateway}.</p>`
}
