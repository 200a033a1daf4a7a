"""Currencies of prizes: ISO 4217 code → digits of its smallest unit (0: no cents).

The table has the usual currencies; add a missing currency here. Currencies with three digits are left out: prizes are
kept to the cent.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final

from leaderboard.errors import UserError

WHOLE: Final = ("CLP", "ISK", "JPY", "KRW", "PYG", "UGX", "VND", "XAF", "XOF")
WITH_CENTS: Final = (
    *("AED", "ARS", "AUD", "BDT", "BGN", "BRL", "CAD", "CHF", "CNY", "COP", "CRC", "CZK", "DKK", "EGP", "EUR", "GBP"),
    *("GEL", "GHS", "HKD", "HUF", "IDR", "ILS", "INR", "KES", "KZT", "LKR", "MAD", "MXN", "MYR", "NGN", "NOK", "NPR"),
    *("NZD", "PEN", "PHP", "PKR", "PLN", "QAR", "RON", "RSD", "SAR", "SEK", "SGD", "THB", "TRY", "TWD", "UAH", "USD"),
    *("UYU", "UZS", "ZAR"),
)
DIGITS: Final = dict.fromkeys(WHOLE, 0) | dict.fromkeys(WITH_CENTS, 2)


def smallest_unit(currency: str) -> Decimal:
    return Decimal(1).scaleb(-DIGITS.get(currency, 2))


def check_money(amount: Decimal, currency: str) -> None:
    """Raise UserError that names `currency` or `amount`."""
    if currency not in DIGITS:
        known = ", ".join(sorted(DIGITS))
        raise UserError("currency", currency, f"give a code of ISO 4217 in capital letters; known here are {known}")
    if amount % smallest_unit(currency):
        unit = "whole units" if not DIGITS[currency] else "cents"
        raise UserError("amount", amount, f"{currency} is paid in {unit}; give no smaller part")
