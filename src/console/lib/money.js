/**
 * An amount of money, with enough digits for small amounts: `12.40 EUR`, `0.0031 EUR`; without a
 * currency only the number.
 */
export function money(amount, currency) {
  const digits =
    amount === 0 || amount >= 0.1 ? 2 : Math.min(9, 1 - Math.floor(Math.log10(amount.toPrecision(2))))
  const text = amount.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
  return currency ? `${text} ${currency}` : text
}

/** Tokens in short form: `840`, `12.4k`, `3.1M`. */
export function tokens(count) {
  const [size, unit] = count >= 1e6 ? [1e6, 'M'] : count >= 1e3 ? [1e3, 'k'] : [1, '']
  return `${Number((count / size).toPrecision(3))}${unit}`
}

/** A share of 1 as `33 %` or `0.4 %`. Anything above zero is never shown as zero. */
export function percent(share) {
  const text = (100 * share).toFixed(share < 0.1 ? 1 : 0)
  return `${share > 0 && Number(text) === 0 ? '< 0.1' : text} %`
}
