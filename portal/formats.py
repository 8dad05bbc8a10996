"""Template filters for numbers, money, days and durations in the reader's conventions."""

from django import template

register = template.Library()
