"""The application, apart from its handlers, so that each module registers its own."""

from yungong import App

app = App()
